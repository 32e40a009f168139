#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <string_view>
#include <vector>

#include "stretto/base/xml_text.h"
#include "stretto/schedule/draw.h"
#include "stretto/schedule/picture.h"

namespace stretto::schedule {
namespace {

constexpr double margin = 28;
constexpr double header_height = 92;
constexpr double legend_height = 58;
constexpr double gutter = 62;  ///< left of the lanes, for the names of rounds
constexpr double reduce_radius = 7;
constexpr double arrival_radius = 2.6;
constexpr double least_width = 640;

constexpr std::string_view style = R"(  <style>
    text { font-family: Inter, "Helvetica Neue", Helvetica, Arial, "DejaVu Sans", sans-serif; fill: #343a40; }
    .title { font-size: 20px; font-weight: 600; fill: #212529; }
    .subtitle { font-size: 13px; }
    .source, .legend, .round { font-size: 11px; fill: #868e96; }
    .rank { font-size: 12px; font-weight: 600; fill: #ffffff; text-anchor: middle; }
    .blocks { font-size: 9.5px; fill: #495057; stroke: #ffffff; stroke-width: 3px; paint-order: stroke; }
    .left { text-anchor: end; }
    .band { fill: #f4f6fa; }
    .lane { stroke: #ced4da; stroke-width: 1.25; }
    .head { fill: #364fc7; }
    .message { stroke-width: 1.6; fill: none; }
    .up { stroke: #1c7ed6; }
    .down { stroke: #7048e8; }
    .reduce { fill: #f76707; stroke: #ffffff; stroke-width: 1.5; }
    .plus { stroke: #ffffff; stroke-width: 1.6; stroke-linecap: round; }
    .arrival { fill: #495057; }
    .copy { fill: #ffffff; stroke: #868e96; stroke-width: 1.4; }
    .result { fill: #2f9e44; }
    .no-result { fill: #ffffff; stroke: #adb5bd; stroke-width: 1.5; }
  </style>
  <defs>
    <marker id="up-head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">
      <path d="M0 1 L10 5 L0 9 Z" fill="#1c7ed6"/>
    </marker>
    <marker id="down-head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">
      <path d="M0 1 L10 5 L0 9 Z" fill="#7048e8"/>
    </marker>
  </defs>
)";

/// Writes one picture; all lengths are in pixels.
class SvgWriter {
 public:
  explicit SvgWriter(const Picture& picture) : picture_(picture) {
    out_ << std::fixed << std::setprecision(1);
    const Rank size = picture.shape.size;
    lane_ = size <= 8 ? 72 : size <= 16 ? 52 : size <= 32 ? 38 : 28;
    const double lanes = (size - 1) * lane_;
    const double source_width = static_cast<double>(picture.source.size()) * 6.1;
    width_ = std::max({least_width, 2 * margin + gutter + lanes + lane_, 2 * margin + source_width});
    first_lane_ = gutter + margin + (width_ - 2 * margin - gutter - lanes) / 2;
    place_rounds();
    height_ = bottom() + 30 + legend_height;
  }

  std::string write() {
    out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width_ << "\" height=\"" << height_
         << "\" viewBox=\"0 0 " << width_ << ' ' << height_ << "\" role=\"img\">\n"
         << "  <title>" << xml_text(picture_.title + ", " + picture_.subtitle) << "</title>\n"
         << style << "  <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
    write_header();
    write_lanes();
    for (const Picture::Arrow& arrow : picture_.arrows) write_arrow(arrow);
    write_works();
    write_labels();
    write_legend();
    out_ << "</svg>\n";
    return out_.str();
  }

 private:
  /// Steep arrows are easy to follow, so rounds with wide ones are taller.
  void place_rounds() {
    std::vector<Rank> reach(picture_.rounds, 0);
    for (const Picture::Arrow& arrow : picture_.arrows) {
      reach[arrow.round] = std::max(reach[arrow.round], span_of(arrow));
    }
    tops_.push_back(header_height + 2 * margin);
    for (const Rank widest : reach) tops_.push_back(bottom() + std::clamp(54 + widest * lane_ * 0.12, 62.0, 150.0));
  }

  static Rank span_of(const Picture::Arrow& arrow) {
    return arrow.from < arrow.to ? arrow.to - arrow.from : arrow.from - arrow.to;
  }
  double x_of(Rank rank) const { return first_lane_ + rank * lane_; }
  double start_of(std::uint32_t round) const { return tops_[round] + 10; }
  double end_of(std::uint32_t round) const { return tops_[round + 1] - 12; }
  double top() const { return tops_.front(); }
  double bottom() const { return tops_.back(); }
  bool reduces(std::uint32_t round, Rank rank) const { return picture_.works[round][rank].reduces; }

  void text(double x, double y, std::string_view css_class, std::string_view words) {
    out_ << "  <text x=\"" << x << "\" y=\"" << y << "\" class=\"" << css_class << "\">" << xml_text(words)
         << "</text>\n";
  }
  void circle(double x, double y, double radius, std::string_view css_class) {
    out_ << "  <circle cx=\"" << x << "\" cy=\"" << y << "\" r=\"" << radius << "\" class=\"" << css_class << "\"/>\n";
  }
  void line(double x1, double y1, double x2, double y2, std::string_view attributes) {
    out_ << "  <line x1=\"" << x1 << "\" y1=\"" << y1 << "\" x2=\"" << x2 << "\" y2=\"" << y2 << "\" " << attributes
         << "/>\n";
  }
  void square(double x, double y) {
    out_ << "  <rect x=\"" << x - 4 << "\" y=\"" << y - 4
         << "\" width=\"8\" height=\"8\" rx=\"1.5\" class=\"copy\"/>\n";
  }
  void plus(double x, double y) {
    circle(x, y, reduce_radius, "reduce");
    line(x - 3.4, y, x + 3.4, y, "class=\"plus\"");
    line(x, y - 3.4, x, y + 3.4, "class=\"plus\"");
  }

  void write_header() {
    text(margin, margin + 18, "title", picture_.title);
    text(margin, margin + 40, "subtitle", picture_.subtitle);
    text(margin, margin + 58, "source", picture_.source);
  }

  void write_lanes() {
    for (std::uint32_t round = 0; round < picture_.rounds; ++round) {
      const double y = tops_[round];
      const double round_height = tops_[round + 1] - y;
      if (round % 2 == 0) {
        out_ << "  <rect x=\"" << margin << "\" y=\"" << y << "\" width=\"" << width_ - 2 * margin << "\" height=\""
             << round_height << "\" rx=\"6\" class=\"band\"/>\n";
      }
      text(margin + 10, y + round_height / 2 + 4, "round", "round " + std::to_string(round));
    }
    for (Rank rank = 0; rank < picture_.shape.size; ++rank) {
      const double x = x_of(rank);
      line(x, top() - 16, x, bottom() + 12, "class=\"lane\"");
      circle(x, top() - 16, 12, "head");
      text(x, top() - 11.8, "rank", std::to_string(rank));
      if (is_receiver(picture_.shape, rank)) {
        circle(x, bottom() + 14, 6.5, "result");
      } else {
        circle(x, bottom() + 14, 6, "no-result");
      }
    }
  }

  void write_arrow(const Picture::Arrow& arrow) {
    const double x1 = x_of(arrow.from);
    const double y1 = start_of(arrow.round);
    const double dx = x_of(arrow.to) - x1;
    const double dy = end_of(arrow.round) - y1;
    const double kept =
        1 - (reduces(arrow.round, arrow.to) ? reduce_radius + 1.5 : arrival_radius) / std::hypot(dx, dy);
    const std::string direction = arrow.from < arrow.to ? "up" : "down";
    out_ << "  <path d=\"M" << x1 << ' ' << y1 << " L" << x1 + dx * kept << ' ' << y1 + dy * kept
         << "\" class=\"message " << direction << "\" marker-end=\"url(#" << direction << "-head)\"><title>"
         << xml_text(arrow.what) << "</title></path>\n";
  }

  void write_works() {
    for (const Picture::Arrow& arrow : picture_.arrows) {
      circle(x_of(arrow.from), start_of(arrow.round), arrival_radius, "arrival");
      if (!reduces(arrow.round, arrow.to)) circle(x_of(arrow.to), end_of(arrow.round), arrival_radius, "arrival");
    }
    for (std::uint32_t round = 0; round < picture_.rounds; ++round) {
      for (Rank rank = 0; rank < picture_.shape.size; ++rank) {
        if (picture_.works[round][rank].copies) square(x_of(rank), start_of(round));
        if (picture_.works[round][rank].reduces) plus(x_of(rank), end_of(round));
      }
    }
  }

  void write_labels() {
    if (picture_.shape.size > 16) return;  // there is no room between the lanes
    for (const Picture::Arrow& arrow : picture_.arrows) {
      if (arrow.label.empty()) continue;
      const bool comes_from_left = arrow.from < arrow.to;
      text(x_of(arrow.to) + (comes_from_left ? 6 : -6), end_of(arrow.round) + 8,
           comes_from_left ? "blocks" : "blocks left", arrow.label);
    }
  }

  void write_legend() {
    const double y = height_ - 28;
    double x = margin + 4;
    const auto entry = [&](double symbol, std::string_view name) {
      text(x + symbol, y + 4, "legend", name);
      x += symbol + static_cast<double>(name.size()) * 6 + 14;
    };
    line(x, y, x + 24, y, "class=\"message up\" marker-end=\"url(#up-head)\"");
    entry(32, "to a higher rank");
    line(x, y, x + 24, y, "class=\"message down\" marker-end=\"url(#down-head)\"");
    entry(32, "to a lower rank");
    if (any(&Picture::Work::reduces)) {
      plus(x + 8, y);
      entry(22, "reduction");
    }
    if (any(&Picture::Work::copies)) {
      square(x + 6, y);
      entry(18, "local copy");
    }
    circle(x + 7, y, 6.5, "result");
    entry(20, picture_.shape.operation == Operation::barrier ? "may go on" : "has the result");
    if (!all_receive()) {
      circle(x + 7, y, 6, "no-result");
      entry(20, "has none");
    }
  }

  bool all_receive() const {
    for (Rank rank = 0; rank < picture_.shape.size; ++rank) {
      if (!is_receiver(picture_.shape, rank)) return false;
    }
    return true;
  }

  bool any(bool Picture::Work::* kind) const {
    return std::any_of(picture_.works.begin(), picture_.works.end(), [&](const std::vector<Picture::Work>& round) {
      return std::any_of(round.begin(), round.end(), [&](const Picture::Work& work) { return work.*kind; });
    });
  }

  const Picture& picture_;
  std::ostringstream out_;
  double lane_ = 0;           ///< between lanes
  double first_lane_ = 0;     ///< x of rank 0
  std::vector<double> tops_;  ///< y where each round begins, and where the last one ends
  double width_ = 0;
  double height_ = 0;
};

}  // namespace

std::string draw_svg(const Algorithm& algorithm, const Shape& shape) {
  const Picture picture = picture_of(algorithm, shape);
  return SvgWriter(picture).write();
}

}  // namespace stretto::schedule
