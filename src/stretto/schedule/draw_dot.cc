#include <sstream>

#include "stretto/schedule/draw.h"
#include "stretto/schedule/picture.h"

namespace stretto::schedule {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') result += '\\';
    result += character;
  }
  return result + '"';
}

std::string node(Rank rank, std::uint32_t round) { return 'r' + std::to_string(rank) + '_' + std::to_string(round); }

/// All ranks as they are before round `round`, side by side and in order.
void draw_row(std::ostream& out, const Picture& picture, std::uint32_t round) {
  out << "  { rank=same;";
  for (Rank rank = 0; rank < picture.shape.size; ++rank) {
    const bool has_reduced = round > 0 && picture.works[round - 1][rank].reduces;
    out << ' ' << node(rank, round) << " [group=lane" << rank << ", ";
    if (round == 0) {
      out << "shape=circle, width=0.4, label=" << rank;
    } else if (has_reduced) {
      out << "shape=circle, width=0.2, fixedsize=true, label=\"+\", fontcolor=white, style=filled, "
             "fillcolor=\"#e8590c\", color=\"#e8590c\"";
    } else {
      out << "shape=point, width=0.06, color=\"#868e96\"";
    }
    out << "];";
  }
  if (picture.shape.size > 1) {
    out << ' ' << node(0, round);
    for (Rank rank = 1; rank < picture.shape.size; ++rank) out << " -> " << node(rank, round);
    out << " [style=invis];";
  }
  out << " }\n";
}

}  // namespace

std::string draw_dot(const Algorithm& algorithm, const Shape& shape) {
  const Picture picture = picture_of(algorithm, shape);
  std::ostringstream out;
  out << "digraph " << quoted(std::string(algorithm.name())) << " {\n"
      << "  graph [rankdir=TB, nodesep=0.4, ranksep=0.6, labelloc=t, fontname=\"sans-serif\",\n"
      << "         label=" << quoted(picture.title + "\n" + picture.subtitle) << "];\n"
      << "  node [fontname=\"sans-serif\", fontsize=11];\n"
      << "  edge [fontname=\"sans-serif\", fontsize=9, color=\"#1971c2\"];\n";
  for (std::uint32_t round = 0; round <= picture.rounds; ++round) draw_row(out, picture, round);
  for (Rank rank = 0; rank < shape.size; ++rank) {
    out << "  " << node(rank, 0);
    for (std::uint32_t round = 1; round <= picture.rounds; ++round) out << " -> " << node(rank, round);
    out << " [arrowhead=none, color=\"#ced4da\", weight=100];\n";
  }
  for (const Picture::Arrow& arrow : picture.arrows) {
    out << "  " << node(arrow.from, arrow.round) << " -> " << node(arrow.to, arrow.round + 1) << " [constraint=false";
    if (!arrow.label.empty()) out << ", label=" << quoted(arrow.label);
    out << ", tooltip=" << quoted(arrow.what) << "];\n";
  }
  out << "}\n";
  return out.str();
}

}  // namespace stretto::schedule
