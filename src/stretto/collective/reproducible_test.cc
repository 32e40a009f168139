#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "stretto/base/hash.h"
#include "stretto/collective/collective.h"
#include "stretto/collective/test_support.h"
#include "stretto/schedule/canonical.h"

// Reductions that are reproducible: each element has the bits that the canonical tree gives, computed here one term
// after the other, by whatever schedule, at whatever length, on whatever fabric.
namespace stretto {
namespace {

using schedule::Operation;

// --- Terms and operators by which another bracket shows -------------------------------------------------------------

/// Neither associative nor commutative: the result tells the whole tree.
struct Tangle {
  std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return mix_64(a) + 3 * b; }
};
/// Associative and commutative up to rounding, it says.
struct UserSum {
  static constexpr bool commutative = true;
  double operator()(double a, double b) const { return a + b; }
};

/// Of very different sizes and both signs, so that sums of them depend on every bracket.
template <class T>
T term(NodeId node, std::size_t index) {
  const std::uint64_t bits = test::contribution(1, node, index);
  if constexpr (std::is_floating_point_v<T>) {
    const auto mantissa = static_cast<T>(static_cast<std::int64_t>(bits)) / static_cast<T>(1ULL << 62U);
    return std::ldexp(mantissa, static_cast<int>(bits % 41) - 20);
  } else {
    return bits;
  }
}

/// Some are NaN, some a zero of either sign.
struct WithZeros {
  double operator()(NodeId node, std::size_t index) const {
    const std::uint64_t bits = test::contribution(2, node, index);
    if (bits % 7 == 0) return std::numeric_limits<double>::quiet_NaN();
    return bits % 2 == 0 ? 0.0 : -0.0;
  }
};

template <class T>
struct Scaled {
  T operator()(NodeId node, std::size_t index) const { return term<T>(node, index); }
};

/// One kind of element, its operator, and what nodes contribute.
template <class T, class Op, class Terms>
struct Kind {
  using Element = T;
  static constexpr Op op{};

  static std::vector<T> input(NodeId node, std::size_t count, std::size_t first = 0) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = Terms()(node, first + i);
    return values;
  }
  /// Ranks first to end - 1, in the canonical tree.
  static T combined(std::span<const NodeId> nodes, std::size_t index) {
    if (nodes.size() == 1) return Terms()(nodes.front(), index);
    const Rank left = schedule::left_of(static_cast<Rank>(nodes.size()));
    return op(combined(nodes.first(left), index), combined(nodes.subspan(left), index));
  }
  static std::vector<T> expected(std::span<const NodeId> nodes, std::size_t count, std::size_t first = 0) {
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = combined(nodes, first + i);
    return values;
  }
};
using Doubles = Kind<double, Sum, Scaled<double>>;
using Floats = Kind<float, Sum, Scaled<float>>;
using Tangles = Kind<std::uint64_t, Tangle, Scaled<std::uint64_t>>;
using Minima = Kind<double, Minimum, WithZeros>;
using UserSums = Kind<double, UserSum, Scaled<double>>;

template <class T>
void expect_bits(const std::vector<T>& found, const std::vector<T>& expected, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  EXPECT_TRUE(found.empty() || std::memcmp(found.data(), expected.data(), found.size() * sizeof(T)) == 0) << what;
}

// --- One collective, apart and in place -----------------------------------------------------------------------------

template <class Kind>
struct Call {
  using T = typename Kind::Element;

  Node& node;
  Group group;
  std::size_t count;
  CollectiveOptions options;
  std::string what;
  Rank me = group.rank_of(node.id());

  Task<> allreduces() const {
    const std::vector<T> expected = Kind::expected(group.nodes(), count);
    std::vector<T> data = Kind::input(node.id(), count);
    std::vector<T> output(count);
    co_await allreduce(node, group, data, output, Kind::op, options);
    expect_bits(output, expected, what);
    co_await allreduce(node, group, data, data, Kind::op, options);
    expect_bits(data, expected, what + " in place");
  }
  Task<> reduces() const {
    const Rank root = group.size() / 2;
    std::vector<T> data = Kind::input(node.id(), count);
    co_await reduce(node, group, data, data, Kind::op, root, options);
    if (me == root) expect_bits(data, Kind::expected(group.nodes(), count), what);
  }
  Task<> scans() const {
    std::vector<T> data = Kind::input(node.id(), count);
    co_await scan(node, group, data, data, Kind::op, options);
    expect_bits(data, Kind::expected(group.nodes().first(me + 1), count), what);
  }
  Task<> exscans() const {
    std::vector<T> data = Kind::input(node.id(), count);
    co_await exscan(node, group, data, data, Kind::op, options);
    if (me > 0) expect_bits(data, Kind::expected(group.nodes().first(me), count), what);
  }
  Task<> reduce_scatters() const {
    std::vector<std::size_t> counts(group.size(), count);
    for (Rank rank = 0; rank < group.size(); ++rank) counts[rank] += rank % 3;
    const std::size_t all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    const std::size_t first = std::accumulate(counts.begin(), counts.begin() + me, std::size_t{0});
    const std::vector<T> input = Kind::input(node.id(), all);
    std::vector<T> output(counts[me]);
    co_await reduce_scatter(node, group, input, output, counts, Kind::op, options);
    expect_bits(output, Kind::expected(group.nodes(), counts[me], first), what);
  }
  Task<> general_reduces() const {
    // The first two thirds give; the last half gets.
    const auto nodes = group.nodes();
    const std::size_t giving = (2 * nodes.size() + 2) / 3;
    const std::size_t getting = (nodes.size() + 1) / 2;
    const ReduceGroups groups(Group({nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(giving)}),
                              Group({nodes.end() - static_cast<std::ptrdiff_t>(getting), nodes.end()}));
    if (!groups.members().contains(node.id())) co_return;
    const std::vector<T> input = Kind::input(node.id(), count);
    std::vector<T> output(count);
    const bool is_commutative = reduction_of<T, std::remove_cvref_t<decltype(Kind::op)>>.commutative;
    if (!is_commutative && giving + getting > nodes.size()) co_return;  // would be refused
    co_await reduce(node, groups, input, output, Kind::op, options);
    if (!groups.receives(node.id())) co_return;
    expect_bits(output, Kind::expected(groups.members().nodes().first(groups.participants()), count), what);
  }

  Task<> run(Operation operation) const {
    switch (operation) {
      case Operation::allreduce: return allreduces();
      case Operation::reduce: return reduces();
      case Operation::scan: return scans();
      case Operation::exscan: return exscans();
      case Operation::reduce_scatter: return reduce_scatters();
      default: return general_reduces();
    }
  }
};

constexpr Operation operations[] = {Operation::allreduce, Operation::reduce,         Operation::scan,
                                    Operation::exscan,    Operation::reduce_scatter, Operation::general_reduce};

/// Every operation, chosen and by every algorithm that may serve it, in every number of segments to three.
template <class Kind>
Task<> run_all(Node& node, Group group, std::size_t count) {
  for (const Operation operation : operations) {
    schedule::Shape shape{.operation = operation, .size = group.size(), .commutative = false, .reproducible = true};
    if (operation == Operation::general_reduce) shape.contributors = (2 * group.size() + 2) / 3;
    for (const std::string_view name : test::algorithms_for(shape)) {
      const auto most = name.empty() ? 1U : schedule::find_algorithm(name).blocking(shape).most_segments;
      for (std::uint32_t segments = 1; segments <= std::min(most, 3U); ++segments) {
        const std::string what = std::string(schedule::name_of(operation)) + " of " + std::to_string(count) + " on " +
                                 std::to_string(group.size()) + " by " + std::string(name);
        const CollectiveOptions options = CollectiveOptions().algorithm(name, segments).reproducible();
        const Call<Kind> call{node, group, count, options, what};
        co_await call.run(operation);
      }
    }
  }
}

class ReproducibleTest : public test::OnEveryFabric {
 protected:
  template <class Kind>
  void run_sizes(std::initializer_list<std::size_t> counts, std::initializer_list<std::uint32_t> sizes) {
    for (const std::uint32_t nodes : sizes) {
      run(nodes, [&](Node& node) -> Task<> {
        for (const std::size_t count : counts) co_await run_all<Kind>(node, Group::all(node), count);
      });
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Fabrics, ReproducibleTest, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

// Eager, and too large for that; cut where pieces of 64 KiB end.
TEST_P(ReproducibleTest, DoublesHaveTheBitsOfTheTree) { run_sizes<Doubles>({1, 5, 700, 9001}, {1, 2, 3, 5, 8}); }
TEST_P(ReproducibleTest, DoublesOfLargerGroupsHaveThem) { run_sizes<Doubles>({3, 1300}, {7, 12, 13}); }
TEST_P(ReproducibleTest, FloatsHaveThem) { run_sizes<Floats>({1, 1500}, {4, 6, 9}); }
TEST_P(ReproducibleTest, OperatorsThatDoNotEvenAssociateDo) { run_sizes<Tangles>({1, 900}, {2, 3, 5, 7, 8, 11}); }
TEST_P(ReproducibleTest, MinimaOfZerosAndNansDo) { run_sizes<Minima>({200, 900}, {3, 5}); }
TEST_P(ReproducibleTest, OperatorsOfUsersThatCommuteDo) { run_sizes<UserSums>({4, 900}, {3, 6}); }

// --- Timing and machines --------------------------------------------------------------------------------------------

TEST(Reproducible, NothingChangesBitsSeeds) {
  const char* const networks[] = {"latency=1us,bandwidth=1GB/s", "latency=50us,bandwidth=10GB/s",
                                  "latency=5us,bandwidth=1GB/s,hosts=3"};
  for (const std::uint64_t seed : test::seeds(60)) {
    for (const char* const network : networks) {
      const std::string fabric = "sim:6," + std::string(network) + ",jitter=20us,reorder=0.5,delay=80us" +
                                 ",delay_probability=0.1,seed=" + std::to_string(seed % 100000);
      SCOPED_TRACE(fabric);
      test::run_on(fabric, [](Node& node) -> Task<> {
        for (const std::size_t count : {3U, 1100U}) {
          for (const Operation operation : operations) {
            const Call<Doubles> call{node, Group::all(node), count, CollectiveOptions().reproducible(), "chosen"};
            co_await call.run(operation);
          }
        }
      });
    }
  }
}

TEST(Reproducible, ReverseAndPartialGroupsHaveTheirOwnTree) {
  test::run_on("local:7", [](Node& node) -> Task<> {
    const Group group({6, 2, 5, 0, 3});
    if (group.contains(node.id())) co_await run_all<Doubles>(node, group, 800);
  });
}

// What is not reproducible has other bits somewhere, so that the tests above do test something.
TEST(Reproducible, OtherSchedulesHaveOtherBits) {
  test::run_on("local:5", [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const std::vector<double> input = Doubles::input(node.id(), 500);
    for (const std::string_view name : {"ring_allreduce", "recursive_doubling", "rabenseifner"}) {
      std::vector<double> output(500);
      co_await allreduce(node, all, input, output, sum, CollectiveOptions().algorithm(name));
      EXPECT_NE(output, Doubles::expected(all.nodes(), 500)) << name;
    }
  });
}

// --- Calls that are made of several things --------------------------------------------------------------------------

TEST(Reproducible, ShardsAreCombinedFirst) {
  for (const char* const fabric : {"local:5", "sim:5"}) {
    test::run_on(fabric, [](Node& node) -> Task<> {
      const Group all = Group::all(node);
      for (const std::size_t count : {4U, 2000U}) {
        const auto shards_of = [&](NodeId id) {
          return std::vector{Doubles::input(id, count), Doubles::input(id + 50, count)};
        };
        const auto mine = shards_of(node.id());
        const std::span<const double> shards[] = {mine[0], mine[1]};
        std::vector<double> output(count);
        co_await allreduce(node, all, std::span<const std::span<const double>>(shards), output, sum,
                           CollectiveOptions().reproducible());
        std::vector<std::vector<double>> terms;
        for (const NodeId id : all.nodes()) {
          const auto its = shards_of(id);
          terms.push_back(its[0]);
          for (std::size_t i = 0; i < count; ++i) terms.back()[i] += its[1][i];
        }
        std::vector<double> expected(count);
        for (std::size_t i = 0; i < count; ++i) {
          expected[i] = ((terms[0][i] + terms[1][i]) + (terms[2][i] + terms[3][i])) + terms[4][i];
        }
        expect_bits(output, expected, "shards");
      }
    });
  }
}

TEST(Reproducible, ConcurrentReducesAreNeitherReorderedNorChangedByOneAnother) {
  for (const char* const fabric : {"local:5", "sim:5"}) {
    for (const std::size_t count : {3U, 1500U}) {
      test::run_on(fabric, [&](Node& node) -> Task<> {
        const ReduceGroups r1(Group{0, 1, 2, 3, 4}, Group{0, 2});
        const ReduceGroups r2(Group{4, 2, 1, 3}, Group{3});
        const std::vector<double> input = Doubles::input(node.id(), count);
        std::vector<double> outputs[3];
        for (std::vector<double>& output : outputs) output.resize(count);
        const std::vector<ReduceCall> calls = {reduce_call(r1, count, input, outputs[0], sum),
                                               reduce_call(r1, count, input, outputs[1], sum),
                                               reduce_call(r2, count, input, outputs[2], sum)};
        for (const Event done : concurrent(node, calls, CollectiveOptions().reproducible())) {
          if (done.exists()) co_await done;
        }
        const auto expected = [&](const ReduceGroups& groups) {
          return Doubles::expected(groups.members().nodes().first(groups.participants()), count);
        };
        if (r1.receives(node.id())) expect_bits(outputs[0], expected(r1), "the first");
        if (r1.receives(node.id())) expect_bits(outputs[1], expected(r1), "the second");
        if (r2.receives(node.id())) expect_bits(outputs[2], expected(r2), "the third");
      });
    }
  }
}

// --- The choice -----------------------------------------------------------------------------------------------------

TEST(Reproducible, AWholeJobMayBe) {
  RuntimeOptions options = test::options_for("local:5");
  options.reproducible = true;
  Runtime runtime(options);
  runtime.run([](Node& node) -> Task<> {
    for (const Operation operation : operations) {
      const Call<Tangles> call{node, Group::all(node), 40, CollectiveOptions(), "of a job"};
      co_await call.run(operation);
    }
    std::vector<int> data(3, 1);  // what combines nothing is as it was
    co_await broadcast(node, Group::all(node), data);
  });
}

TEST(Reproducible, OtherAlgorithmsAreRefusedByName) {
  test::run_on("local:4", [](Node& node) {
    const auto start = [&](std::string_view name) {
      return test::refusal(
          [&] { allreduce(node, Group::all(node), 1.0, sum, CollectiveOptions().algorithm(name).reproducible()); });
    };
    EXPECT_NE(start("ring_allreduce").find("ring_allreduce does not keep the ranks' terms in order"),
              std::string::npos);
  });
}

}  // namespace
}  // namespace stretto
