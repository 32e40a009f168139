#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"

// When the event of a collective that has failed is poisoned, its buffers are the caller's again, though peers read and
// write them in place: they may be freed at once. Half of them are, where the address sanitizer sees what touches them
// later; the others are filled, and looked at later.
namespace stretto {
namespace {

using test::outcome;
using test::values;

constexpr std::uint64_t poisonous = ~std::uint64_t{0};
constexpr std::uint64_t untouched = 0x5a5a5a5a5a5a5a5aU;

// A sum that some node refuses when it meets a poisonous value. Notes when it meets what callers leave behind.
struct MayThrow {
  static constexpr bool commutative = true;
  bool throws;
  std::atomic<bool>* read_late;

  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
    if (a == untouched || b == untouched) read_late->store(true);
    if (throws && (a == poisonous || b == poisonous)) throw Error(ErrorCode::bad_input, "cannot combine these");
    return a + b;
  }
};

// What a node contributes: of node 0, a poisonous value in each third.
std::vector<std::uint64_t> inputs(std::size_t count, std::uint64_t salt, NodeId node, std::size_t where) {
  std::vector<std::uint64_t> result = values<std::uint64_t>(count, salt, node);
  if (node != 0) return result;
  for (std::size_t third = 0; third < 3; ++third) result[third * (count / 3) + where] = poisonous;
  return result;
}

std::vector<std::uint64_t> total(const Group& all, std::size_t count, std::uint64_t salt, std::size_t where) {
  std::vector<std::uint64_t> result(count);
  for (const NodeId node : all.nodes()) {
    const std::vector<std::uint64_t> next = inputs(count, salt, node, where);
    std::transform(result.begin(), result.end(), next.begin(), result.begin(), sum);
  }
  return result;
}

enum class Kind : std::uint8_t { allreduce, allreduce_in_place, reduce_scatter, reduce, scan };
constexpr std::uint64_t kinds = 5;

// One collective at one node, and its buffers.
struct Trial {
  Kind kind;
  std::vector<std::uint64_t> input;
  std::vector<std::uint64_t> output;

  Event start(Node& node, const Group& all, const MayThrow& op) {
    const std::span<const std::uint64_t> in(input);
    const std::span<std::uint64_t> out(output);
    switch (kind) {
      case Kind::allreduce: return allreduce(node, all, in, out, op);
      case Kind::allreduce_in_place: return allreduce(node, all, in, std::span(input), op);
      case Kind::reduce_scatter: return reduce_scatter(node, all, in, out.first(in.size() / all.size()), op);
      case Kind::reduce: return reduce(node, all, in, out, op, 0);
      case Kind::scan: break;
    }
    return scan(node, all, in, out, op);
  }

  // Where nobody threw. What a scan gives is checked elsewhere.
  bool is_right(const std::vector<std::uint64_t>& all_terms, NodeId me, Rank size) const {
    switch (kind) {
      case Kind::allreduce: return output == all_terms;
      case Kind::allreduce_in_place: return input == all_terms;
      case Kind::reduce_scatter: {
        const std::size_t part = input.size() / size;
        return std::equal(output.begin(), output.begin() + static_cast<std::ptrdiff_t>(part),
                          all_terms.begin() + static_cast<std::ptrdiff_t>(me * part));
      }
      case Kind::reduce: return me != 0 || output == all_terms;
      case Kind::scan: break;
    }
    return true;
  }
};

// The buffers of a failed collective, filled, and looked at when others have been used.
class Buried {
 public:
  void bury(std::unique_ptr<Trial> trial) {
    look();
    trial_ = std::move(trial);
    std::fill(trial_->input.begin(), trial_->input.end(), untouched);
    std::fill(trial_->output.begin(), trial_->output.end(), untouched);
  }
  void look() const {
    if (trial_ == nullptr) return;
    EXPECT_TRUE(is_untouched(trial_->input) && is_untouched(trial_->output)) << "written to after its event";
  }

 private:
  static bool is_untouched(const std::vector<std::uint64_t>& vector) {
    return std::all_of(vector.begin(), vector.end(), [](std::uint64_t each) { return each == untouched; });
  }

  std::unique_ptr<Trial> trial_;
};

Task<> fail_and_free(Node& node, std::uint64_t seed, std::atomic<bool>& read_late) {
  const Group all = Group::all(node);
  Random random(seed);  // the same on every node
  Buried buried;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const auto kind = static_cast<Kind>(random.below(kinds));
    const std::size_t count = 3 * (4000 + random.below(80'000));
    const std::size_t where = random.below(4000);
    const auto who = static_cast<NodeId>(random.below(all.size() + 1));  // or nobody
    auto trial = std::make_unique<Trial>(Trial{kind, inputs(count, i, node.id(), where), {}});
    trial->output.resize(count);
    const Event done = trial->start(node, all, MayThrow{node.id() == who, &read_late});
    const Future<std::uint64_t> beside = allreduce(node, all, i + node.id(), sum, CollectiveOptions().key(1));
    const std::string said = co_await outcome(done);
    // Of other operations, some members need nothing of who throws.
    const bool for_all = kind == Kind::allreduce || kind == Kind::allreduce_in_place;
    const bool fails = who < all.size();
    EXPECT_TRUE(said.empty() ? !(fails && for_all) : fails) << "seed " << seed << ", " << i << ": " << said;
    if (said.empty()) {
      EXPECT_TRUE(trial->is_right(total(all, count, i, where), node.id(), all.size())) << "seed " << seed << ", " << i;
    } else {
      EXPECT_EQ(said, "bad_input: cannot combine these") << "seed " << seed << ", " << i;
      if (i % 2 == 0) buried.bury(std::move(trial));
    }
    trial.reset();
    const std::uint64_t sum_beside = co_await beside;
    EXPECT_EQ(sum_beside, 3 * i + 3);
  }
  co_await barrier(node, all);
  buried.look();
}

TEST(AfterFailure, BuffersMayBeFreedAtOnceSeeds) {
  for (const std::uint64_t seed : test::seeds(5)) {
    std::atomic<bool> read_late = false;
    test::run_on("local:3", [&](Node& node) -> Task<> { co_await fail_and_free(node, seed, read_late); });
    EXPECT_FALSE(read_late) << "seed " << seed << ": read after its event";
  }
}

}  // namespace
}  // namespace stretto
