#include "statistics/agreement.h"

#include <algorithm>
#include <array>

#include "stretto/collective/collective.h"

namespace statistics {
namespace {

constexpr std::size_t most_text_bytes = 1024;

std::optional<std::string> different_files(std::span<const Summary> all, const Source& source) {
  for (std::size_t node = 1; node < all.size(); ++node) {
    if (all[node].file_bytes == all[0].file_bytes) continue;
    return source.file + " is not the same for all nodes: " + std::to_string(all[0].file_bytes) + " bytes at node 0, " +
           std::to_string(all[node].file_bytes) + " at node " + std::to_string(node);
  }
  return std::nullopt;
}

}  // namespace

Summary Summary::of(const Share& share) {
  return {share.table.rows(), share.lines, share.file_bytes, share.complaint ? 1U : 0U};
}

std::string place(const Complaint& complaint, const Share& share, const Source& source,
                  std::span<const Summary> before) {
  if (complaint.line == 0) return complaint.text;
  std::uint64_t line = share.layout.lines_before + complaint.line;
  for (const Summary& each : before) line += each.lines;
  return source.file + ":" + std::to_string(line) + ": " + complaint.text;
}

stretto::Task<Agreement> agree(stretto::Node& node, const Source& source, const Share& share) {
  const stretto::Group group = stretto::Group::all(node);
  const Summary mine = Summary::of(share);
  const std::vector<Summary> all = co_await allgather(node, group, mine);

  Agreement agreement;
  for (const Summary& each : all) agreement.rows.push_back(each.rows);
  const auto first = std::find_if(all.begin(), all.end(), [](const Summary& each) { return each.has_complaint != 0; });
  if (first == all.end()) {
    agreement.complaint = different_files(all, source);
    co_return agreement;
  }
  const auto rank = static_cast<stretto::Rank>(first - all.begin());
  std::array<char, most_text_bytes> text{};
  if (rank == node.id()) {
    const std::string said = place(*share.complaint, share, source, std::span(all).first(rank));
    std::copy_n(said.begin(), std::min(said.size(), text.size() - 1), text.begin());
  }
  co_await broadcast(node, group, text, rank);
  agreement.complaint = text.data();
  co_return agreement;
}

}  // namespace statistics
