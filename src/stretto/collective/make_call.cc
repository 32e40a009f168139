#include "stretto/collective/make_call.h"

#include <string>

#include "stretto/base/error.h"

namespace stretto::detail {

void require_size(std::string_view operation, std::string_view buffer, std::size_t is, std::size_t should_be) {
  if (is == should_be) return;
  throw Error(ErrorCode::invalid_argument, std::string(operation) + ": " + std::string(buffer) + " has " +
                                               std::to_string(is) + " elements where " + std::to_string(should_be) +
                                               " are needed");
}

void require_multiple(std::string_view operation, std::string_view buffer, std::size_t is, std::size_t ranks) {
  if (is % ranks == 0) return;
  throw Error(ErrorCode::invalid_argument, std::string(operation) + ": " + std::string(buffer) + " has " +
                                               std::to_string(is) + " elements, which " + std::to_string(ranks) +
                                               " ranks cannot share equally");
}

// A node outside of the group is refused later, by name.
void require_blocks(std::string_view operation, std::string_view buffer, const CollectiveCall& call, schedule::Rank me,
                    std::size_t bytes) {
  if (me + 1 >= call.block_offsets.size()) return;
  const std::size_t block = call.block_offsets[me + 1] - call.block_offsets[me];
  require_size(operation, buffer, bytes / call.element_bytes, block / call.element_bytes);
}

std::vector<std::size_t> block_offsets(std::string_view operation, std::span<const std::size_t> counts,
                                       std::size_t ranks, std::size_t element_bytes) {
  if (counts.size() != ranks) {
    throw Error(ErrorCode::invalid_argument, std::string(operation) + ": counts has " + std::to_string(counts.size()) +
                                                 " entries where the group has " + std::to_string(ranks) + " ranks");
  }
  std::vector<std::size_t> offsets = {0};
  for (const std::size_t count : counts) offsets.push_back(offsets.back() + count * element_bytes);
  return offsets;
}

}  // namespace stretto::detail
