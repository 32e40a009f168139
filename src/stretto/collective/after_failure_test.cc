#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"
#include "stretto/core/segment_array.h"

// When the event of a collective that has failed is poisoned, its buffers are the caller's again, though peers read and
// write them in place, or pieces of them are on a wire: they may be freed at once. Half of them are, where the address
// sanitizer sees what touches them later; the others are filled, and looked at later. So it is with a caller that is
// cancelled, since some main has failed.
namespace stretto {
namespace {

using test::outcome;
using test::values;

constexpr std::uint64_t poisonous = ~std::uint64_t{0};
constexpr std::uint64_t untouched = 0x5a5a5a5a5a5a5a5aU;

struct Seen {
  std::atomic<bool> read_late = false;
  std::atomic<int> failures = 0;
};

// A sum that some node refuses when it meets a poisonous value. Notes when it meets what callers leave behind.
struct MayThrow {
  static constexpr bool commutative = true;
  bool throws;
  Seen* seen;

  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const {
    if (a == untouched || b == untouched) seen->read_late = true;
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

// In the node's segment, where what comes over a wire is put in place, or not.
class Buffer {
 public:
  Buffer(Node& node, bool in_segment, std::size_t count) {
    if (in_segment) {
      inside_ = SegmentArray<std::uint64_t>(node, count);
      words_ = inside_;
    } else {
      outside_.resize(count);
      words_ = outside_;
    }
  }
  std::span<std::uint64_t> words() const { return words_; }
  bool is(const std::vector<std::uint64_t>& expected) const {
    return std::equal(words_.begin(), words_.end(), expected.begin(), expected.end());
  }

 private:
  SegmentArray<std::uint64_t> inside_;
  std::vector<std::uint64_t> outside_;
  std::span<std::uint64_t> words_;
};

// One collective at one node, and its buffers.
struct Trial {
  Trial(Node& node, Kind its_kind, bool in_segment, const std::vector<std::uint64_t>& contributed)
      : kind(its_kind), input(node, in_segment, contributed.size()), output(node, in_segment, contributed.size()) {
    std::copy(contributed.begin(), contributed.end(), input.words().begin());
  }

  Kind kind;
  Buffer input;
  Buffer output;

  Event start(Node& node, const Group& all, const MayThrow& op) {
    const std::span<const std::uint64_t> in = input.words();
    const std::span<std::uint64_t> out = output.words();
    switch (kind) {
      case Kind::allreduce: return allreduce(node, all, in, out, op);
      case Kind::allreduce_in_place: return allreduce(node, all, in, input.words(), op);
      case Kind::reduce_scatter: return reduce_scatter(node, all, in, out.first(in.size() / all.size()), op);
      case Kind::reduce: return reduce(node, all, in, out, op, 0);
      case Kind::scan: break;
    }
    return scan(node, all, in, out, op);
  }

  // Where nobody threw. What a scan gives is checked elsewhere.
  bool is_right(const std::vector<std::uint64_t>& all_terms, NodeId me, Rank size) const {
    switch (kind) {
      case Kind::allreduce: return output.is(all_terms);
      case Kind::allreduce_in_place: return input.is(all_terms);
      case Kind::reduce_scatter: {
        const std::size_t part = all_terms.size() / size;
        const auto mine = output.words().first(part);
        return std::equal(mine.begin(), mine.end(), all_terms.begin() + static_cast<std::ptrdiff_t>(me * part));
      }
      case Kind::reduce: return me != 0 || output.is(all_terms);
      case Kind::scan: break;
    }
    return true;
  }
};

// What a caller does with buffers that are its own again.
void leave(Trial& trial) {
  for (const auto words : {trial.input.words(), trial.output.words()}) {
    std::fill(words.begin(), words.end(), untouched);
  }
}

bool is_untouched(const Trial& trial) {
  const auto both = {trial.input.words(), trial.output.words()};
  return std::all_of(both.begin(), both.end(), [](const auto words) {
    return std::all_of(words.begin(), words.end(), [](std::uint64_t each) { return each == untouched; });
  });
}

// The buffers of a failed collective, filled, and looked at when others have been used.
class Buried {
 public:
  void bury(std::unique_ptr<Trial> trial) {
    look();
    trial_ = std::move(trial);
    leave(*trial_);
  }
  void look() const {
    if (trial_ == nullptr) return;
    EXPECT_TRUE(is_untouched(*trial_)) << "written to after its event";
  }

 private:
  std::unique_ptr<Trial> trial_;
};

Task<> fail_and_free(Node& node, std::uint64_t seed, Seen& seen) {
  const Group all = Group::all(node);
  Random random(seed);  // the same on every node
  Buried buried;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const auto kind = static_cast<Kind>(random.below(kinds));
    const std::size_t count = 3 * (4000 + random.below(random.below(8) == 0 ? 80'000 : 10'000));  // now and then many
    const std::size_t where = random.below(4000);
    const auto who = static_cast<NodeId>(random.below(all.size() + 1));  // or nobody
    auto trial = std::make_unique<Trial>(node, kind, random.below(2) == 0, inputs(count, i, node.id(), where));
    const Event done = trial->start(node, all, MayThrow{node.id() == who, &seen});
    const Future<std::uint64_t> beside = allreduce(node, all, i + node.id(), sum, CollectiveOptions().key(1));
    const std::string said = co_await outcome(done);
    // Some members may need nothing of who throws, who may have nothing to combine.
    const bool fails = who < all.size();
    EXPECT_TRUE(said.empty() || fails) << "seed " << seed << ", " << i << ": " << said;
    if (said.empty()) {
      EXPECT_TRUE(trial->is_right(total(all, count, i, where), node.id(), all.size())) << "seed " << seed << ", " << i;
    } else {
      EXPECT_EQ(said, "bad_input: cannot combine these") << "seed " << seed << ", " << i;
      ++seen.failures;
      if (i % 2 == 0) buried.bury(std::move(trial));
    }
    trial.reset();
    const std::uint64_t sum_beside = co_await beside;
    EXPECT_EQ(sum_beside, 3 * i + 3);
  }
  co_await barrier(node, all);
  buried.look();
}

class AfterFailure : public test::OnEveryFabric {};

TEST_P(AfterFailure, BuffersMayBeFreedAtOnceSeeds) {
  for (const std::uint64_t seed : test::seeds(5)) {
    Seen seen;
    run(3, [&](Node& node) -> Task<> { co_await fail_and_free(node, seed, seen); });
    EXPECT_FALSE(seen.read_late) << "seed " << seed << ": read after its event";
    EXPECT_GT(seen.failures, 0) << "seed " << seed;
  }
}

// Marks the buffers of a coroutine that unwinds.
class Unwinding {
 public:
  explicit Unwinding(Trial& trial) : trial_(trial) {}
  ~Unwinding() { leave(trial_); }
  Unwinding(const Unwinding&) = delete;
  Unwinding& operator=(const Unwinding&) = delete;

 private:
  Trial& trial_;
};

// Goes on until another main fails; tries once more then, as a destructor might.
Task<> call_until_cancelled(Node& node, Trial& trial, MayThrow op) {
  const Group all = Group::all(node);
  const Unwinding unwinding(trial);
  std::string said;
  while (said.empty()) said = co_await outcome(trial.start(node, all, op));
  EXPECT_NE(said.find("failed on purpose"), std::string::npos) << said;
  const std::string again = co_await outcome(trial.start(node, all, op));
  EXPECT_NE(again, "");
}

// How far the others are then is the seed's: by how often it has taken part, and for how long it has worked since.
Task<> fail_on_purpose(Node& node, Trial& trial, MayThrow op, std::uint64_t seed) {
  const Group all = Group::all(node);
  Random random(seed);
  for (std::uint64_t i = random.below(3); i > 0; --i) co_await trial.start(node, all, op);
  std::uint64_t spent = 0;
  for (std::uint64_t i = random.below(40'000); i > 0; --i) spent = next_splitmix64(spent);
  node.charge(static_cast<double>(spent == 0 ? 0 : random.below(40)) * 1e-6);
  throw Error(ErrorCode::io, "failed on purpose");
}

TEST_P(AfterFailure, WhoIsCancelledMayUnwindSeeds) {
  for (const std::uint64_t seed : test::seeds(20)) {
    Random random(seed);
    const auto kind = static_cast<Kind>(random.below(kinds));
    const std::size_t count = 3 * (2000 + random.below(40'000));
    Seen seen;
    Runtime runtime(test::options_for(GetParam().of(3)));
    const bool in_segment = random.below(2) == 0;
    std::vector<Trial> trials;
    for (const auto& node : runtime.nodes()) {
      trials.emplace_back(*node, kind, in_segment, test::values<std::uint64_t>(count, seed, node->id()));
    }
    const std::optional<Error> error = test::error_of([&] {
      runtime.run([&](Node& node) -> Task<> {
        const MayThrow op{false, &seen};
        Trial& mine = trials[node.id()];
        return node.id() == 0 ? fail_on_purpose(node, mine, op, seed) : call_until_cancelled(node, mine, op);
      });
    });
    ASSERT_TRUE(error) << "seed " << seed;
    EXPECT_EQ(error->message(), "failed on purpose") << "seed " << seed;
    EXPECT_FALSE(seen.read_late) << "seed " << seed << ": read by a collective after its caller had unwound";
    EXPECT_TRUE(is_untouched(trials[1]) && is_untouched(trials[2])) << "seed " << seed << ": written to after that";
  }
}

INSTANTIATE_TEST_SUITE_P(Fabrics, AfterFailure, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

}  // namespace
}  // namespace stretto
