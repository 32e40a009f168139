#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/test_operators.h"
#include "stretto/collective/test_support.h"
#include "stretto/core/segment_array.h"

// What reductions do with their operators, built-in and the user's, on every fabric that lives in one process.
namespace stretto {
namespace {

using test::Affine;
using test::Compose;
using test::contribution;
using test::reduced;
using test::serial;
using test::values;

class OperatorsTest : public test::OnEveryFabric {};

INSTANTIATE_TEST_SUITE_P(Fabrics, OperatorsTest, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

// What comes of five such terms is exact in every type, also as a product: what is unsigned wraps around.
template <class T>
T exact_value(NodeId node, std::size_t index) {
  const std::uint64_t bits = contribution(3, node, index);
  if constexpr (requires { typename T::value_type; }) {
    using Part = typename T::value_type;
    return {static_cast<Part>(bits % 3), static_cast<Part>(bits / 3 % 3)};
  } else if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) {
    return static_cast<T>(bits);
  } else {
    return static_cast<T>(bits % 3);
  }
}

// Reductions of `count` elements of each node, which are under way together, against one term after the other. Knows
// the elements' type alone, so that it is compiled once for ten operators.
template <class T>
class OperatorTrial {
 public:
  OperatorTrial(Node& node, std::size_t count)
      : node_(node), all_(Group::all(node)), count_(count), memory_(new T[(4 + all_.size()) * count]()) {
    for (std::size_t i = 0; i < input().size(); ++i) input()[i] = exact_value<T>(node.id(), i);
  }

  template <class Op>
  static Event start(const OperatorTrial& trial) {
    const std::span<const T> whole = trial.input();
    const std::span<const T> mine = whole.first(trial.count_);
    Node& node = trial.node_;
    const Group& all = trial.all_;
    return node.merge(std::vector<Event>{
        allreduce(node, all, mine, trial.output(0), Op{}), reduce(node, all, mine, trial.output(1), Op{}, trial.root()),
        scan(node, all, mine, trial.output(2), Op{}), reduce_scatter(node, all, whole, trial.output(3), Op{})});
  }

  using Once = T (*)(T left, T right);

  void expect(Once once, const char* name) const {
    const Rank me = all_.rank_of(node_.id());
    expect_combined("allreduce", output(0), all_, 0, once, name);
    if (me == root()) expect_combined("reduce", output(1), all_, 0, once, name);
    expect_combined("scan", output(2), test::first_ranks(all_, me + 1), 0, once, name);
    expect_combined("reduce_scatter", output(3), all_, me * count_, once, name);
  }

 private:
  Rank root() const { return all_.size() - 1; }
  // Side by side, so that most begin in the middle of a vector's width.
  std::span<T> output(std::size_t number) const { return {memory_.get() + number * count_, count_}; }
  std::span<T> input() const { return {memory_.get() + 4 * count_, all_.size() * count_}; }

  void expect_combined(const char* operation, std::span<const T> is, const Group& terms, std::size_t first, Once once,
                       const char* name) const {
    for (std::size_t i = 0; i < is.size(); ++i) {
      if (is[i] == serial(terms, once, [&](NodeId member) { return exact_value<T>(member, first + i); })) continue;
      ADD_FAILURE() << "node " << node_.id() << ", " << operation << " of " << typeid(T).name() << " by " << name
                    << ", element " << i << " of " << count_;
      return;
    }
  }

  Node& node_;
  Group all_;
  std::size_t count_;
  std::unique_ptr<T[]> memory_;  // a vector of bools is no array
};

template <class T>
Task<> check_trials(Node& node, Event (*start)(const OperatorTrial<T>&), T (*once)(T, T), const char* name) {
  static constexpr std::size_t around_vectors[] = {1, 9, 33, 7, 8, 31, 1000};
  for (const std::size_t count : std::span(around_vectors).first(test::sanitized ? 3 : 7)) {
    const OperatorTrial<T> trial(node, count);
    const Event done = start(trial);
    co_await done;
    trial.expect(once, name);
  }
}

template <class T, class Op>
Task<> check_operator(Node& node, Op /*op*/) {
  const auto once = [](T left, T right) -> T { return Op{}(left, right); };
  return check_trials<T>(node, &OperatorTrial<T>::template start<Op>, once, typeid(Op).name());
}

template <class T>
Task<> check_type(Node& node) {
  co_await check_operator<T>(node, sum);
  co_await check_operator<T>(node, product);
  co_await check_operator<T>(node, minimum);
  co_await check_operator<T>(node, maximum);
  co_await check_operator<T>(node, logical_and);
  co_await check_operator<T>(node, logical_or);
  co_await check_operator<T>(node, logical_xor);
  if constexpr (std::is_integral_v<T>) {
    co_await check_operator<T>(node, bitwise_and);
    co_await check_operator<T>(node, bitwise_or);
    co_await check_operator<T>(node, bitwise_xor);
  }
}

static_assert(!ReductionOperator<BitwiseAnd, double> && !ReductionOperator<BitwiseXor, float>);
static_assert(!ReductionOperator<Minloc, double> && ReductionOperator<Maxloc, Located<float>>);

TEST_P(OperatorsTest, AllOperatorsOnAllArithmeticTypes) {
  run(5, [](Node& node) -> Task<> {
    co_await check_type<bool>(node);
    co_await check_type<char>(node);
    co_await check_type<signed char>(node);
    co_await check_type<unsigned char>(node);
    co_await check_type<wchar_t>(node);
    co_await check_type<short>(node);
    co_await check_type<unsigned short>(node);
    co_await check_type<int>(node);
    co_await check_type<unsigned>(node);
    co_await check_type<long>(node);
    co_await check_type<unsigned long>(node);
    co_await check_type<long long>(node);
    co_await check_type<unsigned long long>(node);
    co_await check_type<float>(node);
    co_await check_type<double>(node);
    co_await check_type<long double>(node);
  });
}

TEST_P(OperatorsTest, SumsAndProductsOfComplexNumbers) {
  run(5, [](Node& node) -> Task<> {
    co_await check_operator<std::complex<float>>(node, sum);
    co_await check_operator<std::complex<float>>(node, product);
    co_await check_operator<std::complex<double>>(node, sum);
    co_await check_operator<std::complex<double>>(node, product);
    co_await check_operator<std::complex<long double>>(node, sum);
    co_await check_operator<std::complex<long double>>(node, product);
  });
}

TEST_P(OperatorsTest, LocationsAreTheLowestOfTheBest) {
  run(7, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    using Value = Located<double>;
    const double mine = std::abs(static_cast<double>(node.id()) - 3);  // 3 2 1 0 1 2 3
    const Value least = co_await allreduce(node, all, Value{mine, node.id()}, minloc);
    EXPECT_EQ(least, (Value{0, 3}));
    const Value greatest = co_await allreduce(node, all, Value{mine, node.id()}, maxloc);
    EXPECT_EQ(greatest, (Value{3, 0}));
    // From the other end.
    const Value last = co_await allreduce(node, all, Value{mine, 6 - node.id()}, maxloc);
    EXPECT_EQ(last, (Value{3, 0}));
  });
}

// Sums of doubles round; but all members must see the same rounding, and one close to the true sum.
TEST_P(OperatorsTest, AllMembersGetTheSameBits) {
  for (const std::uint32_t nodes : {2U, 3U, 7U, 12U}) {
    for (const std::size_t count : {5U, 5000U}) {
      std::vector<std::vector<double>> results(nodes);
      run(nodes, [&](Node& node) -> Task<> {
        std::vector<double> input(count);
        for (std::size_t i = 0; i < count; ++i) {
          Random random(contribution(1, node.id(), i));
          input[i] = std::ldexp(random.unit() - 0.5, static_cast<int>(random.below(60)));
        }
        std::vector<double>& output = results[node.id()];
        output.resize(count);
        co_await allreduce(node, Group::all(node), input, output, sum);
      });
      for (std::uint32_t node = 1; node < nodes; ++node) {
        EXPECT_EQ(std::memcmp(results[node].data(), results[0].data(), count * sizeof(double)), 0);
      }
    }
  }
}

struct Extremes {
  double least;
  double greatest;
  std::int32_t who_least;
  std::int16_t pad[2];
};
struct Combine {
  static constexpr bool commutative = true;
  Extremes operator()(const Extremes& a, const Extremes& b) const {
    const bool first = a.least < b.least || (a.least == b.least && a.who_least < b.who_least);
    return {first ? a.least : b.least, std::max(a.greatest, b.greatest), first ? a.who_least : b.who_least, {}};
  }
};

// An operator with a state: addition modulo something.
struct AddModulo {
  std::uint32_t modulus;
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const { return (a + b) % modulus; }
};

std::uint64_t greater(const std::uint64_t& a, const std::uint64_t& b) { return a > b ? a : b; }

TEST_P(OperatorsTest, UserOperatorsMayHaveStructsAndState) {
  run(6, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const std::vector<std::uint64_t> numbers(10, node.id());
    std::vector<std::uint64_t> greatest_of_each(10);
    co_await allreduce(node, all, numbers, greatest_of_each, greater);
    EXPECT_EQ(greatest_of_each, std::vector<std::uint64_t>(10, 5));
    EXPECT_EQ(co_await allreduce(node, all, numbers[0], greater), 5U) << "a plain function, of a value";
    const auto mine = static_cast<double>((node.id() * 7 + 3) % 6);
    const Extremes extremes =
        co_await allreduce(node, all, Extremes{mine, mine, static_cast<std::int32_t>(node.id()), {}}, Combine());
    EXPECT_EQ(extremes.least, 0);
    EXPECT_EQ(extremes.greatest, 5);
    EXPECT_EQ(extremes.who_least, 3);
    const std::uint32_t total = co_await allreduce(node, all, node.id() + 95, AddModulo{100});
    EXPECT_EQ(total, (6 * 95 + 15) % 100U);
    const std::uint32_t offset = node.size() / 2;  // a lambda with a capture
    const std::uint32_t greatest = co_await allreduce(
        node, all, node.id(), [offset](std::uint32_t a, std::uint32_t b) { return std::max({a, b, offset}); });
    EXPECT_EQ(greatest, 5U);
  });
}

// Says whether any of its applications ran between messages, under the baton.
// Messages bring their data to wherever they lie; an operator sees them where its type may.
struct alignas(32) Wide {
  std::array<std::int64_t, 4> values;
};
struct AddWide {
  Wide operator()(const Wide& a, const Wide& b) const noexcept {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&a) % alignof(Wide), 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&b) % alignof(Wide), 0U);
    Wide sums{};
    for (std::size_t i = 0; i < sums.values.size(); ++i) sums.values[i] = a.values[i] + b.values[i];
    return sums;
  }
  static constexpr bool elementary = true;
};

struct alignas(64) Line {};
struct alignas(128) TwoLines {};
static_assert(Element<Line> && !Element<TwoLines>);

TEST_P(OperatorsTest, ElementsAreAligned) {
  for (const std::uint32_t nodes : {2U, 3U, 5U}) {
    run(nodes, [](Node& node) -> Task<> {
      const std::int64_t members = node.size();
      for (const std::size_t count : {std::size_t{1}, std::size_t{3}}) {
        const std::vector<Wide> input(count, Wide{{1, node.id(), 3, 4}});
        std::vector<Wide> output(count);
        co_await allreduce(node, Group::all(node), input, output, AddWide());
        for (const Wide& sum : output) {
          EXPECT_EQ(sum.values,
                    (std::array<std::int64_t, 4>{members, members * (members - 1) / 2, 3 * members, 4 * members}));
        }
      }
    });
  }
}

// Of no power of two bytes, so that pieces end anywhere; with a state; what comes first matters.
struct Path {
  std::uint32_t slope;
  std::uint32_t rise;
  std::uint32_t after;
  bool operator==(const Path&) const = default;
};
struct Join {
  static constexpr bool elementary = true;
  std::uint32_t factor;
  Path operator()(const Path& a, const Path& b) const noexcept {
    return {a.slope * b.slope, factor * (a.rise * b.slope + b.rise), a.after ^ (b.after + 3 * a.after)};
  }
};

// What is combined there is written to both, in place or not (decision 70).
TEST_P(OperatorsTest, LongVectorsOfStructsComeOutRight) {
  constexpr std::size_t count = 100'001;
  const auto path = [](NodeId node, std::size_t i) {
    const auto number = static_cast<std::uint32_t>(i);
    return Path{2 * number + 1, number ^ (node + 1), 7 * node + number};
  };
  for (const std::uint32_t nodes : {2U, 3U}) {
    run(nodes, [path](Node& node) -> Task<> {
      const Group all = Group::all(node);
      const Join join{node.size() + 1};
      SegmentArray<Path> in_segment(node, count);
      std::vector<Path> input(count);
      std::vector<Path> output(count);
      for (std::size_t i = 0; i < count; ++i) in_segment[i] = input[i] = path(node.id(), i);
      co_await allreduce(node, all, input, output, join);
      co_await allreduce(node, all, in_segment, in_segment, join);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < count; ++i) {
        Path expected = path(0, i);
        for (NodeId next = 1; next < node.size(); ++next) expected = join(expected, path(next, i));
        if (!(output[i] == expected && in_segment[i] == expected)) ++wrong;
      }
      EXPECT_EQ(wrong, 0U);
    });
  }
}

template <bool says_elementary>
struct WhereItRuns {
  static constexpr bool commutative = true;
  static constexpr bool elementary = says_elementary;
  std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const noexcept {
    return static_cast<std::uint8_t>(a | b | (fabric::Context::serving() ? 1 : 2));
  }
};
struct OwnType {
  std::uint8_t where;
  friend OwnType operator+(OwnType a, OwnType b) { return {WhereItRuns<false>()(a.where, b.where)}; }
};

TEST_P(OperatorsTest, OnlyElementaryOperatorsRunWhereTheDataArrive) {
  run(4, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const std::uint8_t nowhere = 0;
    EXPECT_EQ(co_await allreduce(node, all, nowhere, WhereItRuns<true>()), 1);
    EXPECT_EQ(co_await allreduce(node, all, nowhere, WhereItRuns<false>()), 2);
    const OwnType sum_of_own = co_await allreduce(node, all, OwnType{0}, sum);  // the user's `+` may wait
    EXPECT_EQ(sum_of_own.where, 2);
  });
}

TEST_P(OperatorsTest, AUserOperatorThatThrowsPoisonsEverywhere) {
  run(4, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const auto refuse = [](int, int) -> int { throw Error(ErrorCode::bad_input, "cannot combine these"); };
    const std::string said = co_await test::outcome(allreduce(node, all, 1, refuse));
    EXPECT_EQ(said, "bad_input: cannot combine these");
    // The group goes on.
    const int total = co_await allreduce(node, all, 1, sum);
    EXPECT_EQ(total, 4);
  });
}

using ComposeAll = test::AtOnce<Affine, Compose>;
using ComposeByHalves = test::ByHalves<Affine, Compose>;

template <class Op>
Task<> check_task_operator(Node& node, std::size_t count) {
  const Group all = Group::all(node);
  const std::vector<Affine> mine = values<Affine>(count, 4, node.id());
  const std::vector<Affine> expected = reduced<Affine>(all, count, 4, Compose());
  std::vector<Affine> output(count);
  co_await allreduce(node, all, mine, output, Op());
  EXPECT_EQ(output, expected) << count;
  std::vector<Affine> in_place = mine;
  co_await allreduce(node, all, in_place, in_place, Op(), CollectiveOptions().reproducible());
  EXPECT_EQ(in_place, expected) << count;
  std::vector<Affine> at_root(count);
  const Rank root = all.size() - 1;
  co_await reduce(node, all, mine, at_root, Op(), root);
  EXPECT_TRUE(node.id() != root || at_root == expected) << count;
  co_await scan(node, all, mine, output, Op());
  EXPECT_EQ(output, reduced<Affine>(test::first_ranks(all, node.id() + 1), count, 4, Compose())) << count;
}

TEST_P(OperatorsTest, AnOperatorMayBeATask) {
  for (const std::uint32_t nodes : {1U, 2U, 5U}) {
    run(nodes, [](Node& node) -> Task<> {
      for (const std::size_t count : {0U, 1U, 7U, 3000U}) {
        co_await check_task_operator<ComposeAll>(node, count);
        co_await check_task_operator<ComposeByHalves>(node, count);
      }
      const Affine alone = co_await allreduce(node, Group::all(node), test::affine(1, node.id(), 0), ComposeByHalves());
      const auto expected = serial(Group::all(node), Compose(), [](NodeId id) { return test::affine(1, id, 0); });
      EXPECT_EQ(alone, expected);
    });
  }
}

TEST_P(OperatorsTest, ATaskThatThrowsPoisonsEverywhere) {
  struct Refuse {
    Task<> operator()(Node& node, std::span<int>, std::span<const int>, std::span<const int>) const {
      co_await node.spawn([] {});
      throw Error(ErrorCode::bad_input, "this task cannot combine these");
    }
  };
  run(4, [](Node& node) -> Task<> {
    const Group all = Group::all(node);
    const std::string said = co_await test::outcome(allreduce(node, all, 1, Refuse()));
    EXPECT_EQ(said, "bad_input: this task cannot combine these");
    const int total = co_await allreduce(node, all, 1, sum);
    EXPECT_EQ(total, 4);
  });
}

template <class T, class Op>
constexpr CallForm form_of = form_of_reduction<schedule::Operation::allreduce, T, Op>;

// A call of a form that no operator's type gives. Node 0 begins it when the others' first messages are there.
template <class T, class Op>
Task<std::string> outcome_by(Node& node, const CallForm& form, const Op& op, std::vector<T>& data) {
  const Group all = Group::all(node);
  CollectiveCall call = detail::make_call<schedule::Operation::allreduce>(data, data, op);
  call.form = &form;
  if (node.id() == 0) co_await barrier(node, all, CollectiveOptions().key(1));
  const Event done = CollectiveService::of(node).start(all, std::move(call), CollectiveOptions());
  if (node.id() != 0) co_await barrier(node, all, CollectiveOptions().key(1));
  co_return co_await test::outcome(done);
}

// As two files may have them, each in a namespace without a name.
TEST_P(OperatorsTest, OfTwoOfOneNameEachRunsWhereItMay) {
  static constexpr const CallForm& elementary = form_of<std::uint8_t, WhereItRuns<true>>;
  static constexpr CallForm other = [] {
    CallForm form = form_of<std::uint8_t, WhereItRuns<false>>;
    form.reduction.digest = elementary.reduction.digest;
    return form;
  }();
  run(2, [](Node& node) -> Task<> {
    for (int i = 0; i < 6; ++i) {
      const bool is_elementary = i % 2 == 0;
      std::vector<std::uint8_t> where{0};
      EXPECT_EQ(co_await outcome_by(node, is_elementary ? elementary : other, WhereItRuns<true>(), where), "");
      EXPECT_EQ(where.front(), is_elementary ? 1 : 2);
    }
  });
}

// Calls that are alike, but that for some of them `shortage` finds no memory.
template <class T, class Op>
Task<> check_shortage(Node& node, std::size_t count, Op op, const CallForm& shortage) {
  const std::vector<T> expected = reduced<T>(Group::all(node), count, 4, Compose());
  for (const bool is_short : {false, false, true, false, true}) {
    std::vector<T> data = values<T>(count, 4, node.id());
    const std::string said = co_await outcome_by(node, is_short ? shortage : form_of<T, Op>, op, data);
    EXPECT_EQ(said, is_short ? "out_of_resources: a collective found no memory" : "");
    EXPECT_TRUE(is_short || data == expected) << count;
  }
}

struct ComposeAtOnce : Compose {
  static constexpr bool elementary = true;
  Affine operator()(const Affine& f, const Affine& g) const noexcept { return Compose::operator()(f, g); }
};

TEST_P(OperatorsTest, AShortageOfMemoryPoisonsEverywhere) {
  static constexpr CallForm at_once = [] {
    CallForm form = form_of<Affine, ComposeAtOnce>;
    form.reduction.combine = [](const void*, void*, const void*, const void*, std::size_t) { throw std::bad_alloc(); };
    return form;
  }();
  static constexpr CallForm by_task = [] {
    CallForm form = form_of<Affine, ComposeAll>;
    form.reduction.spawn = [](Node&, const void*, void*, const void*, const void*, std::size_t) -> Event {
      throw std::bad_alloc();
    };
    return form;
  }();
  for (const std::size_t count : {1U, 300U}) {
    run(2, [count](Node& node) -> Task<> {
      co_await check_shortage<Affine>(node, count, ComposeAtOnce(), at_once);
      co_await check_shortage<Affine>(node, count, ComposeAll(), by_task);
      co_await barrier(node, Group::all(node));
      EXPECT_EQ(test::bytes_in_use(node), 0U) << "node " << node.id();
    });
  }
}

// Each node has so many shards; node `late` calls when the others' first messages are there.
Task<> check_shards(Node& node, std::size_t count, const std::vector<std::size_t>& shards, NodeId late,
                    const CollectiveOptions& options) {
  const Group all = Group::all(node);
  std::vector<std::vector<Affine>> mine;
  for (std::size_t shard = 0; shard < shards[node.id()]; ++shard) {
    mine.push_back(values<Affine>(count, shard, node.id()));
  }
  std::vector<Affine> output(count);
  if (node.id() == late) co_await barrier(node, all, CollectiveOptions().key(1));
  const Event done = allreduce(node, all, mine, output, Compose(), options);
  if (node.id() != late) co_await barrier(node, all, CollectiveOptions().key(1));
  co_await done;
  for (std::size_t i = 0; i < count; ++i) {
    const Affine expected = serial(all, Compose(), [&](NodeId member) {
      Affine own = test::affine(0, member, i);
      for (std::uint64_t shard = 1; shard < shards[member]; ++shard) {
        own = Compose()(own, test::affine(shard, member, i));
      }
      return own;
    });
    if (output[i] == expected) continue;
    ADD_FAILURE() << "node " << node.id() << ", element " << i << " of " << count;
    co_return;
  }
}

// What is small and lent may come before they are added.
TEST_P(OperatorsTest, ShardsMeetWhatOthersLend) {
  for (const std::size_t count : {129U, 300U, 512U}) {
    run(2, [count](Node& node) -> Task<> {
      const CollectiveOptions options = CollectiveOptions().algorithm("recursive_doubling");
      for (NodeId late = 0; late < 2; ++late) {
        const std::vector<std::size_t> at_both{2, 2};
        co_await check_shards(node, count, at_both, late, options);
        std::vector<std::size_t> at_one{1, 1};
        at_one[late] = 3;
        co_await check_shards(node, count, at_one, late, options);
      }
    });
  }
}

TEST_P(OperatorsTest, ShardsAreCombinedInTheirOrder) {
  for (const std::size_t count : {1U, 600U, 9000U}) {
    run(3, [count](Node& node) -> Task<> {
      const Group all = Group::all(node);
      const std::vector<std::size_t> shards{1, 2, 3};  // nodes may have different numbers of them
      const NodeId nobody = 3;
      co_await check_shards(node, count, shards, nobody, CollectiveOptions());
      // In place: the output is the first shard.
      std::vector<std::uint64_t> first = values<std::uint64_t>(count, 5, node.id());
      const std::vector<std::uint64_t> second = values<std::uint64_t>(count, 6, node.id());
      const std::span<const std::uint64_t> both[] = {first, second};
      co_await allreduce(node, all, std::span<const std::span<const std::uint64_t>>(both), first, sum);
      const auto a = reduced<std::uint64_t>(all, count, 5, sum);
      const auto b = reduced<std::uint64_t>(all, count, 6, sum);
      EXPECT_EQ(first.front(), a.front() + b.front());
      EXPECT_EQ(first.back(), a.back() + b.back());
    });
  }
}

}  // namespace
}  // namespace stretto
