#include "stretto/collective/make_call.h"

#include <algorithm>
#include <limits>
#include <string>

#include "stretto/base/error.h"

namespace stretto::detail {

void require_size(std::string_view operation, std::string_view buffer, std::size_t is, std::size_t should_be) {
  if (is == should_be) return;
  throw Error(ErrorCode::invalid_argument, std::string(operation) + ": " + std::string(buffer) + " has " +
                                               std::to_string(is) + " elements where " + std::to_string(should_be) +
                                               " are needed");
}

namespace {

/// The sizes of one rank's buffers, in the caller's terms.
class Sizes {
 public:
  Sizes(const CollectiveCall& call, schedule::Rank size, schedule::Rank me) : call_(call), size_(size), me_(me) {}

  void require_output_as_input() const { require("output", call_.output, call_.input.size()); }
  /// One buffer holds this rank's block, the other one, if it counts, those of all.
  void require_blocks(std::string_view one, ConstByteSpan block, std::string_view other, ConstByteSpan all,
                      bool counts) const {
    const std::span<const std::size_t> offsets = call_.block_offsets();
    if (!offsets.empty()) require(one, block, offsets[me_ + 1] - offsets[me_]);
    if (counts) require(other, all, offsets.empty() ? block.size() * size_ : offsets.back());
  }
  void require_parts() const {
    if (!call_.block_offsets().empty()) {
      require("input", call_.input, call_.block_offsets().back());
      require("output", call_.output, call_.output_offsets().back());
      require_own_part();
      return;
    }
    const std::size_t elements = call_.input.size() / call_.element_bytes();
    if (elements % size_ == 0) return require_output_as_input();
    throw Error(ErrorCode::invalid_argument, std::string(name()) + ": input has " + std::to_string(elements) +
                                                 " elements, which " + std::to_string(size_) +
                                                 " ranks cannot share equally");
  }

 private:
  /// It is copied from one to the other.
  void require_own_part() const {
    const auto elements = [this](std::span<const std::size_t> offsets) {
      return (offsets[me_ + 1] - offsets[me_]) / call_.element_bytes();
    };
    const std::size_t given = elements(call_.block_offsets());
    const std::size_t expected = elements(call_.output_offsets());
    if (given == expected) return;
    throw Error(ErrorCode::invalid_argument, std::string(name()) + ": rank " + std::to_string(me_) + " gives itself " +
                                                 std::to_string(given) + " elements where it expects " +
                                                 std::to_string(expected) +
                                                 " of itself; pass the same number in both counts");
  }
  void require(std::string_view buffer, ConstByteSpan is, std::size_t should_be) const {
    if (is.size() == should_be) return;
    require_size(name(), buffer, is.size() / call_.element_bytes(), should_be / call_.element_bytes());
  }
  std::string_view name() const { return name_of(call_); }

  const CollectiveCall& call_;
  schedule::Rank size_;
  schedule::Rank me_;
};

}  // namespace

void require_fitting(const CollectiveCall& call, schedule::Rank size, schedule::Rank me) {
  using schedule::Operation;
  const Sizes sizes(call, size, me);
  const bool is_root = me == call.root;
  const bool gives_and_gets = me < call.inner_receivers;
  switch (call.operation()) {
    case Operation::barrier:
    case Operation::broadcast: break;
    case Operation::reduce:
      if (is_root) sizes.require_output_as_input();
      break;
    case Operation::general_reduce:
      if (gives_and_gets) sizes.require_output_as_input();
      break;
    case Operation::exscan:
      if (me != 0 || !call.output.empty()) sizes.require_output_as_input();
      break;
    case Operation::allreduce:
    case Operation::scan: sizes.require_output_as_input(); break;
    case Operation::gather: sizes.require_blocks("input", call.input, "output", call.output, is_root); break;
    case Operation::allgather: sizes.require_blocks("input", call.input, "output", call.output, true); break;
    case Operation::scatter: sizes.require_blocks("output", call.output, "input", call.input, is_root); break;
    case Operation::reduce_scatter: sizes.require_blocks("output", call.output, "input", call.input, true); break;
    case Operation::all_to_all: sizes.require_parts(); break;
  }
}

std::size_t bytes_of_elements(std::string_view operation, std::size_t count, std::size_t element_bytes) {
  constexpr std::size_t most = std::numeric_limits<std::ptrdiff_t>::max();
  if (count <= most / element_bytes) return count * element_bytes;
  throw Error(ErrorCode::invalid_argument, std::string(operation) + ": " + std::to_string(count) + " elements of " +
                                               std::to_string(element_bytes) +
                                               " bytes are more than memory can hold; pass a smaller count");
}

std::vector<std::size_t> block_offsets(std::string_view operation, std::string_view list,
                                       std::span<const std::size_t> counts, std::size_t ranks,
                                       std::size_t element_bytes) {
  if (counts.size() != ranks) {
    throw Error(ErrorCode::invalid_argument, std::string(operation) + ": " + std::string(list) + " has " +
                                                 std::to_string(counts.size()) + " entries where the group has " +
                                                 std::to_string(ranks) + " ranks");
  }
  std::vector<std::size_t> offsets;
  offsets.reserve(ranks + 1);
  offsets.push_back(0);
  std::size_t elements = 0;
  for (const std::size_t count : counts) {
    elements += std::min(count, ~std::size_t{0} - elements);  // too many stay too many
    offsets.push_back(bytes_of_elements(operation, elements, element_bytes));
  }
  return offsets;
}

std::shared_ptr<const CallLists> listed(std::string_view operation, std::span<const std::size_t> counts,
                                        std::size_t ranks, std::size_t element_bytes) {
  return std::make_shared<const CallLists>(
      CallLists{block_offsets(operation, "counts", counts, ranks, element_bytes), {}, {}});
}

}  // namespace stretto::detail
