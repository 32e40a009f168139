#include "stretto/collective/concurrent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stretto/collective/collective.h"
#include "stretto/collective/concurrent_plan.h"
#include "stretto/collective/test_support.h"
#include "stretto/fabric/sim/sim_fabric.h"

// Several general reduces at once: what they give does not depend on how they are put together.
namespace stretto {
namespace {

using test::Affine;
using test::Compose;
using test::outcome;
using test::reduced;
using test::refusal;
using test::values;

constexpr Together all_kinds[] = {Together::as_given, Together::balanced, Together::fused,
                                  Together::balanced_and_fused};

class ConcurrentTest : public test::OnEveryFabric {};

INSTANTIATE_TEST_SUITE_P(Fabrics, ConcurrentTest, testing::ValuesIn(test::fabric_kinds), test::name_of_kind);

Group participants_of(const ReduceGroups& groups) { return test::first_ranks(groups.members(), groups.participants()); }

// One reduce of a list at one node: its buffers, and what has to come out. Stays where it is until it is over.
class Trial {
 public:
  enum class Operator : std::uint8_t { sum, maximum, of_user, compose };

  Trial(Node& node, const ReduceGroups& groups, std::size_t count, Operator op, std::uint64_t salt)
      : node_(node), groups_(groups), count_(count), op_(op), salt_(salt) {
    prepare(numbers_in_, numbers_out_);
    prepare(affine_in_, affine_out_);
  }

  ReduceCall call() {
    switch (op_) {
      case Operator::sum: return reduce_call(groups_, count_, numbers_in_, numbers_out_, sum);
      case Operator::maximum: return reduce_call(groups_, count_, numbers_in_, numbers_out_, maximum);
      case Operator::of_user: return reduce_call(groups_, count_, numbers_in_, numbers_out_, Twice());
      case Operator::compose: break;
    }
    return reduce_call(groups_, count_, affine_in_, affine_out_, Compose());
  }

  bool is_right() const {
    if (!groups_.receives(node_.id())) return true;
    const Group from = participants_of(groups_);
    switch (op_) {
      case Operator::sum: return numbers_out_ == reduced<std::uint64_t>(from, count_, salt_, sum);
      case Operator::maximum: return numbers_out_ == reduced<std::uint64_t>(from, count_, salt_, maximum);
      case Operator::of_user: return numbers_out_ == reduced<std::uint64_t>(from, count_, salt_, Twice());
      case Operator::compose: break;
    }
    return affine_out_ == reduced<Affine>(from, count_, salt_, Compose());
  }

 private:
  struct Twice {
    static constexpr bool commutative = true;
    std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return 2 * a * b + a + b; }  // associative
  };

  template <class T>
  void prepare(std::vector<T>& in, std::vector<T>& out) const {
    if (groups_.participates(node_.id())) in = values<T>(count_, salt_, node_.id());
    if (groups_.receives(node_.id())) out.resize(count_);
  }

  Node& node_;
  ReduceGroups groups_;
  std::size_t count_;
  Operator op_;
  std::uint64_t salt_;
  std::vector<std::uint64_t> numbers_in_;
  std::vector<std::uint64_t> numbers_out_;
  std::vector<Affine> affine_in_;
  std::vector<Affine> affine_out_;
};

using Trials = std::vector<std::unique_ptr<Trial>>;

std::vector<ReduceCall> calls_of(const Trials& trials) {
  std::vector<ReduceCall> calls;
  for (const auto& trial : trials) calls.push_back(trial->call());
  return calls;
}

Task<> check(Node& node, const Trials& trials, CollectiveOptions options, Together together, std::string what) {
  const std::vector<Event> done = concurrent(node, calls_of(trials), options, together);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    co_await done[i];
    EXPECT_TRUE(trials[i]->is_right()) << "reduce " << i << " at node " << node.id() << ", together "
                                       << static_cast<int>(together) << ", " << what;
  }
}

// The Aspen paper's Fig. 5, its second reduce's participants in either order.
struct Figure5 {
  ReduceGroups r1{Group{0, 1, 2, 3}, Group{0, 2}};
  ReduceGroups r2{Group{1, 2}, Group{3}};
  ReduceGroups r2_reversed{Group{2, 1}, Group{3}};
};

TEST_P(ConcurrentTest, GivesThePapersExample) {
  run(5, [](Node& node) -> Task<> {
    const Figure5 figure;
    for (const std::size_t count : {0U, 1U, 512U, 9000U, 32'768U}) {
      for (const Together together : all_kinds) {
        for (const ReduceGroups* r2 : {&figure.r2, &figure.r2_reversed}) {
          std::vector<double> sent1(count, 1.0 + node.id());
          std::vector<double> sent2(count, 2.0 + node.id());
          std::vector<double> received1(count);
          std::vector<double> received2(count);
          const std::vector<Event> done = concurrent(node,
                                                     {reduce_call(figure.r1, count, sent1, received1, sum),
                                                      reduce_call(*r2, count, sent2, received2, product)},
                                                     CollectiveOptions(), together);
          EXPECT_EQ(done[0].exists(), node.id() < 4);
          EXPECT_EQ(done[1].exists(), node.id() > 0 && node.id() < 4);
          for (const Event each : done) co_await each;
          const bool in_r1 = node.id() == 0 || node.id() == 2;
          EXPECT_EQ(received1, std::vector<double>(count, in_r1 ? 1 + 2 + 3 + 4 : 0));
          EXPECT_EQ(received2, std::vector<double>(count, node.id() == 3 ? 3 * 4 : 0));
        }
      }
    }
  });
}

// Random lists, each several times, and with other collectives of the same groups in between.
TEST_P(ConcurrentTest, RandomListsSeeds) {
  constexpr std::uint32_t nodes = 7;
  run(nodes, [](Node& node) -> Task<> {
    for (const std::uint64_t seed : test::seeds(25)) {
      Random random(seed);  // the same lists on every node
      std::vector<ReduceGroups> known;
      Trials trials;
      for (std::uint64_t i = 0; i < 1 + random.below(8); ++i) {
        if (known.empty() || random.below(2) == 0) {
          const auto some = [&random] {
            return test::random_group(random, nodes, 1 + static_cast<std::uint32_t>(random.below(nodes)));
          };
          const Group participants = some();
          const Group receivers = some();
          known.emplace_back(participants_of(ReduceGroups(participants, receivers)), receivers);
        }
        const std::size_t count = random.below(5) == 0 ? 600 + random.below(12'000) : random.below(40);
        trials.push_back(std::make_unique<Trial>(node, known[random.below(known.size())], count,
                                                 static_cast<Trial::Operator>(random.below(4)), seed + i));
      }
      const std::string what = "seed " + std::to_string(seed);
      for (int round = 0; round < 3; ++round) {
        for (const Together together : all_kinds) {
          for (int i = 0; i < 1 + round % 2; ++i) {
            co_await check(node, trials, CollectiveOptions().key(seed), together, what);
          }
        }
      }
      const ReduceGroups& one = known.front();
      if (!one.members().contains(node.id())) continue;
      std::vector<std::uint64_t> data = values<std::uint64_t>(5, seed, node.id());
      co_await reduce(node, one, data, data, sum, CollectiveOptions().key(seed));
      if (!one.receives(node.id())) continue;
      EXPECT_TRUE(data == reduced<std::uint64_t>(participants_of(one), 5, seed, sum)) << "after the lists of " << seed;
    }
  });
}

TEST_P(ConcurrentTest, AnAlgorithmMayBeNamed) {
  run(4, [](Node& node) -> Task<> {
    const Figure5 figure;
    for (const std::string_view algorithm : {"aspen_general_reduce", "scattered_general_reduce"}) {
      for (const std::size_t count : {3U, 20'000U}) {
        Trials trials;
        trials.push_back(std::make_unique<Trial>(node, figure.r1, count, Trial::Operator::sum, 1));
        trials.push_back(std::make_unique<Trial>(node, figure.r2_reversed, count, Trial::Operator::maximum, 2));
        co_await check(node, trials, CollectiveOptions().algorithm(algorithm), Together::balanced_and_fused,
                       std::string(algorithm));
      }
    }
  });
}

// Inputs are read when the precondition has triggered, also those that travel together.
TEST_P(ConcurrentTest, WaitsForItsPrecondition) {
  run(3, [](Node& node) -> Task<> {
    const ReduceGroups groups(Group{0, 1, 2}, Group{0, 1, 2});
    int first = -1000;
    int second = -1000;
    const UserEvent written = node.create_user_event();
    const std::vector<Event> done =
        concurrent(node,
                   {reduce_call(groups, 1, std::span<const int>(&first, 1), std::span(&first, 1), sum),
                    reduce_call(groups, 1, std::span<const int>(&second, 1), std::span(&second, 1), maximum)},
                   CollectiveOptions().after(written));
    first = 1 + static_cast<int>(node.id());
    second = first;
    written.trigger();
    for (const Event each : done) co_await each;
    EXPECT_EQ(first, 6);
    EXPECT_EQ(second, 3);
  });
}

TEST_P(ConcurrentTest, APoisonedPreconditionPoisonsWhatTravelsTogether) {
  run(3, [](Node& node) -> Task<> {
    const ReduceGroups groups(Group{0, 1, 2}, Group{0, 1, 2});
    std::vector<int> first(3, 1);
    std::vector<int> second(3, 1);
    const UserEvent never = node.create_user_event();
    if (node.id() == 1) never.poison(Error(ErrorCode::bad_input, "said the test"));
    if (node.id() != 1) never.trigger();
    const std::vector<Event> done =
        concurrent(node, {reduce_call(groups, 3, first, first, sum), reduce_call(groups, 3, second, second, sum)},
                   CollectiveOptions().after(never));
    for (const Event each : done) {
      const std::string said = co_await outcome(each);
      EXPECT_EQ(said, "bad_input: said the test");
    }
    EXPECT_EQ(first, std::vector<int>(3, 1)) << "nothing comes out";
  });
}

TEST_P(ConcurrentTest, MisuseIsRefusedByNameAndStartsNothing) {
  run(4, [](Node& node) -> Task<> {
    std::vector<double> three(3);
    std::vector<double> out(3);
    std::vector<Affine> affine(3);
    const ReduceGroups all(Group::all(node), Group::all(node));
    const ReduceCall good = reduce_call(all, 3, three, out, sum);
    const auto refused = [&](const ReduceCall& bad, const CollectiveOptions& options = CollectiveOptions()) {
      return refusal([&] { concurrent(node, {good, bad}, options); });
    };
    EXPECT_EQ(refused(reduce_call(all, 4, three, out, sum)),
              "concurrent: reduce 1: input has 3 elements where 4 are needed");
    EXPECT_EQ(refused(reduce_call(all, 3, three, std::span(out).first(2), sum)),
              "concurrent: reduce 1: output has 2 elements where 3 are needed");
    EXPECT_EQ(refused(reduce_call(all, 2, std::span(three).first(2), std::span(three).subspan(1), sum)),
              "reduce: input and output overlap; pass buffers that are apart, or in place");
    EXPECT_EQ(refused(good),
              "concurrent: the output of reduce 0 and the output of reduce 1 overlap; pass outputs that "
              "are apart");
    std::vector<double> elsewhere(3);
    EXPECT_EQ(refused(reduce_call(all, 3, out, elsewhere, sum)),
              "concurrent: the output of reduce 0 and the input of reduce 1 overlap; pass outputs that are apart");
    EXPECT_EQ(
        refusal([&] { reduce_call(all, std::size_t{1} << 61U, three, out, sum); }),
        "reduce_call: 2305843009213693952 elements of 8 bytes are more than memory can hold; pass a smaller count");
    const ReduceGroups too_many(Group{0, 1, 2, 3, 4}, Group{0, 1, 2, 3});
    EXPECT_EQ(refused(reduce_call(too_many, 3, three, out, sum)),
              "node 4 of the group does not exist; the job has 4 nodes");
    const ReduceGroups out_of_order(Group::all(node), Group{1, 2});
    EXPECT_EQ(refused(reduce_call(out_of_order, 3, affine, affine, Compose()))
                  .rfind("concurrent: reduce 1: an operator that does not commute needs ", 0),
              0U);
    const CollectiveOptions by_another = CollectiveOptions().algorithm("binomial_reduce");
    EXPECT_NE(refused(good, by_another), "accepted");
    const CollectiveOptions in_order = CollectiveOptions().algorithm("aspen_general_reduce");
    EXPECT_NE(refused(reduce_call(all, 3, affine, affine, Compose()), in_order), "accepted");

    EXPECT_TRUE(concurrent(node, {}).empty());
    // What was refused took no number: the next one matches.
    std::fill(three.begin(), three.end(), 1.0);
    const std::vector<Event> done = concurrent(node, {good});
    co_await done.front();
    EXPECT_EQ(out, std::vector<double>(3, 4.0));
  });
}

// Who passes another list, and who fuses or balances what others don't, is found out.
TEST_P(ConcurrentTest, ListsThatDisagreeAreAMismatch) {
  enum class How : std::uint8_t { count_of_a_foreign_reduce, order_of_participants, balance, one_more };
  for (const How how : {How::count_of_a_foreign_reduce, How::order_of_participants, How::balance, How::one_more}) {
    for (const std::size_t count : {1U, 9000U}) {
      run(4, [how, count](Node& node) -> Task<> {
        const Figure5 figure;
        const bool is_odd = node.id() == 0;  // a member of r1 alone
        std::vector<double> data(count, 1.0);
        std::vector<double> result(count);
        std::vector<double> of_r2(count, 1.0);
        std::vector<ReduceCall> calls;
        calls.push_back(reduce_call(figure.r1, count, data, result, sum));
        const std::size_t foreign = is_odd && how == How::count_of_a_foreign_reduce ? count + 1 : count;
        const bool reversed = is_odd && how == How::order_of_participants;
        const ReduceGroups& r2 = reversed ? figure.r2_reversed : figure.r2;
        calls.push_back(reduce_call(r2, foreign, of_r2, of_r2, product));
        if (is_odd && how == How::one_more) calls.push_back(reduce_call(r2, 1, of_r2, of_r2, sum));
        const Together together = is_odd && how == How::balance ? Together::as_given : Together::balanced;
        const std::vector<Event> done = concurrent(node, calls, CollectiveOptions(), together);
        const std::string said = co_await outcome(done[0]);
        // Who only gives may be through before it could know.
        const bool must_know = figure.r1.receives(node.id());
        EXPECT_TRUE(said.rfind("mismatch: ", 0) == 0 || (said.empty() && !must_know))
            << static_cast<int>(how) << " at " << node.id() << ": " << said;
        co_await done[1];
        const int total = co_await allreduce(node, Group::all(node), 1, sum);
        EXPECT_EQ(total, 4);
      });
    }
  }
}

// Who fuses what others don't still takes as many numbers, so that all hear of it, and what comes after matches.
TEST_P(ConcurrentTest, WhoFusesAloneIsToldSo) {
  for (const Together odd : {Together::as_given, Together::fused}) {
    run(4, [odd](Node& node) -> Task<> {
      const Group all = Group::all(node);
      const ReduceGroups groups(all, all);
      std::vector<int> data(3, 1);
      std::vector<std::vector<int>> results(3, data);
      std::vector<ReduceCall> calls;
      for (auto& each : results) calls.push_back(reduce_call(groups, 3, data, each, sum));
      const Together others = odd == Together::fused ? Together::as_given : Together::fused;
      const std::vector<Event> done = concurrent(node, calls, CollectiveOptions(), node.id() == 1 ? odd : others);
      for (const Event each : done) {
        const std::string said = co_await outcome(each);
        EXPECT_EQ(said.rfind("mismatch: ", 0), 0U) << "at " << node.id() << ": " << said;
      }
      co_await reduce(node, groups, data, results[0], sum);
      EXPECT_EQ(results[0], std::vector<int>(3, 4));
    });
  }
}

// The plan of a list: pure, so that it may be looked at without a job.
TEST(ConcurrentPlan, BalancesAndFusesAndIsFoundAgain) {
  const Surroundings here;
  Selector selector(here);
  const Figure5 figure;
  std::vector<double> data(1);
  const auto call = [&](const ReduceGroups& groups, std::size_t count) {
    return reduce_call(groups, count, data, data, sum);
  };
  const std::vector<ReduceCall> calls = {call(figure.r1, 1), call(figure.r2_reversed, 1), call(figure.r1, 2),
                                         call(figure.r1, 4096)};
  const auto sets = [&](Together together) {
    std::vector<std::vector<std::size_t>> result;
    for (const ConcurrentPlan::Set& set : ConcurrentPlan(calls, {}, together, selector).sets)
      result.push_back(set.calls);
    return result;
  };
  using Sets = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(sets(Together::as_given), (Sets{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(sets(Together::balanced), (Sets{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(sets(Together::fused), (Sets{{0, 2}, {1}, {3}}));
  EXPECT_EQ(sets(Together::balanced_and_fused), (Sets{{0, 2}, {1}, {3}}));

  const std::vector<ReduceCall> reversed = {call(figure.r1, 1), call(figure.r2_reversed, 1)};
  const Named aspen{&schedule::find_algorithm("aspen_general_reduce")};  // the order matters to it
  const ConcurrentPlan given(reversed, aspen, Together::fused, selector);
  EXPECT_FALSE(given.sets[0].planned->order || given.sets[1].planned->order);
  ConcurrentPlans plans;
  const auto plan = plans.find_or_make(reversed, aspen, Together::balanced, selector);
  EXPECT_FALSE(plan->sets[0].planned->order);
  EXPECT_EQ(plan->sets[1].planned->order, Group({1, 2, 3}));
  EXPECT_EQ(plans.find_or_make(reversed, aspen, Together::balanced, selector), plan);
  for (std::size_t count = 1; count <= 30; ++count) {
    EXPECT_NE(plans.find_or_make({call(figure.r1, count)}, {}, Together::balanced, selector), plan);
  }
  EXPECT_NE(plans.find_or_make(reversed, aspen, Together::balanced, selector), plan) << "30 others have come since";
  EXPECT_NE(plans.find_or_make(reversed, aspen, Together::as_given, selector),
            plans.find_or_make(reversed, aspen, Together::balanced, selector));
}

// One after the other long vectors are cut; two of Fig. 5 leave less to do to nodes 1 and 2 if they are not.
TEST(ConcurrentPlan, MovesLongVectorsWholeWhereThatIsLessForTheBusiest) {
  const Surroundings here;
  Selector selector(here);
  const Figure5 figure;
  std::vector<double> data(1);
  const auto call = [&](const ReduceGroups& groups, std::size_t count) {
    return reduce_call(groups, count, data, data, sum);
  };
  const schedule::Algorithm* const aspen = &schedule::find_algorithm("aspen_general_reduce");
  const std::vector<ReduceCall> both = {call(figure.r1, 100'000), call(figure.r2_reversed, 100'000)};
  for (const ConcurrentPlan::Set& set : ConcurrentPlan(both, {}, Together::balanced, selector).sets) {
    const ReduceCall& reduce = both[set.calls.front()];
    const schedule::Shape shape = shape_of(reduce.part.call, reduce.groups.members().size());
    const auto* const chosen = selector.choose(shape, reduce.part.bytes, true, schedule::Link::wire).algorithm;
    EXPECT_EQ(set.planned->over_wires != nullptr ? set.planned->over_wires : chosen, aspen);
  }
  for (const ConcurrentPlan::Set& set : ConcurrentPlan(both, {}, Together::fused, selector).sets) {
    EXPECT_EQ(set.planned->over_wires, nullptr);
  }
  const ReduceGroups all(Group{0, 1, 2, 3}, Group{0, 1, 2, 3});
  const ConcurrentPlan alone({call(all, 100'000)}, {}, Together::balanced, selector);
  EXPECT_EQ(alone.sets[0].planned->over_wires, nullptr) << "cut it is less";
  const schedule::Algorithm* const scattered = &schedule::find_algorithm("scattered_general_reduce");
  for (const ConcurrentPlan::Set& set : ConcurrentPlan(both, {scattered}, Together::balanced, selector).sets) {
    EXPECT_EQ(set.planned->over_wires, nullptr) << "the caller says how";
  }
}

// What a simulated machine does of Fig. 5, repeated: its messages and its virtual time.
struct Simulated {
  std::uint64_t messages = 0;
  double seconds = 0;
};
Simulated simulate(const std::string& machine, const std::vector<std::pair<ReduceGroups, std::size_t>>& reduces,
                   Together together) {
  Runtime runtime(test::options_for("sim:4" + machine));
  auto& fabric = static_cast<fabric::SimFabric&>(runtime.fabric());
  runtime.run([&](Node& node) -> Task<> {
    Trials trials;
    for (const auto& [groups, count] : reduces) {
      trials.push_back(std::make_unique<Trial>(node, groups, count, Trial::Operator::sum, trials.size()));
    }
    co_await check(node, trials, CollectiveOptions(), together, machine);
  });
  return {fabric.messages(), fabric::to_seconds(fabric.timeline().now())};
}

// Of who gives, and waits for nobody, nothing is left under way (decision 40).
TEST(Concurrent, ListsThatAreAlikeAreDoneInTheCall) {
  int over_at_once = 0;
  test::run_on("sim:4,early=1", [&](Node& node) -> Task<> {
    const Figure5 figure;
    std::vector<double> data(8, 1.0);
    std::vector<double> result(8);
    for (int call = 0; call < 6; ++call) {
      const std::vector<Event> done = concurrent(
          node, {reduce_call(figure.r1, 4, std::span<const double>(data).first(4), std::span(result).first(4), sum),
                 reduce_call(figure.r2, 4, std::span<const double>(data).first(4), std::span(result).subspan(4), sum)});
      if (node.id() == 1) {
        for (const Event each : done) over_at_once += each.exists() ? 0 : 1;
      }
      for (const Event each : done) co_await each;
      co_await barrier(node, Group::all(node));
    }
  });
  EXPECT_EQ(over_at_once, 10) << "both reduces, in each call but the first";
}

TEST(Concurrent, FusedReducesTakeTheMessagesOfOne) {
  const Figure5 figure;
  const std::pair one(figure.r1, std::size_t{3});
  const std::uint64_t alone = simulate("", {one}, Together::as_given).messages;
  EXPECT_EQ(simulate("", {one, one, one}, Together::balanced_and_fused).messages, alone);
  EXPECT_EQ(simulate("", {one, one, one}, Together::balanced).messages, 3 * alone);
}

// The paper's machine: Gigabit Ethernet. It gained up to 25 %.
TEST(Concurrent, BalanceGainsTimeOnASimulatedMachine) {
  const Figure5 figure;
  const std::string machine = ",latency=25us,bandwidth=125MB/s,overhead=5us";
  for (const std::size_t count : {1U, 64U, 256U, 512U, 513U, 768U, 1024U, 4096U, 32'768U, 262'144U}) {
    const std::vector<std::pair<ReduceGroups, std::size_t>> reduces = {{figure.r1, count}, {figure.r2_reversed, count}};
    const double given = simulate(machine, reduces, Together::as_given).seconds;
    const double balanced = simulate(machine, reduces, Together::balanced).seconds;
    EXPECT_LE(balanced, given) << count << " doubles";
    if (count >= 4096) {
      EXPECT_LT(balanced, 0.9 * given) << count << " doubles";
    }
  }
}

// Each message of the run takes each node along: who lives hears of it, or gets what is right.
TEST(Concurrent, AKillAtEveryMessageIndex) {
  const std::string machine = ",seed=4,jitter=1us,reorder=0.2,detection=20us";
  const Figure5 figure;
  std::size_t clean = 0;
  std::size_t lost = 0;
  for (const std::size_t count : {1U, 2000U}) {
    const std::vector<std::pair<ReduceGroups, std::size_t>> reduces = {
        {figure.r1, count}, {figure.r2_reversed, count}, {figure.r1, 2 * count}};
    const std::uint64_t messages = simulate(machine, reduces, Together::balanced_and_fused).messages;
    ASSERT_GE(messages, 6U);
    for (std::uint64_t index = 0; index < messages; ++index) {
      for (NodeId victim = 0; victim < 4; ++victim) {
        const std::string kill = ",kill=" + std::to_string(victim) + "#" + std::to_string(index);
        Runtime runtime(test::options_for("sim:4" + machine + kill));
        std::vector<Trials> trials(4);  // outlive the mains, of which the victim's never ends
        runtime.run([&](Node& node) -> Task<> {
          Trials& mine = trials[node.id()];
          for (const auto& [groups, elements] : reduces) {
            mine.push_back(std::make_unique<Trial>(node, groups, elements, Trial::Operator::sum, mine.size()));
          }
          const std::vector<Event> done = concurrent(node, calls_of(mine));
          for (std::size_t i = 0; i < done.size(); ++i) {
            const std::string said = co_await outcome(done[i]);
            if (node.id() == victim) continue;
            EXPECT_TRUE(said.empty() ? mine[i]->is_right() : said.rfind("peer_lost: ", 0) == 0) << kill << ": " << said;
            (said.empty() ? clean : lost) += 1;
          }
        });
      }
    }
  }
  EXPECT_GT(clean, 100U);
  EXPECT_GT(lost, 100U);
}

}  // namespace
}  // namespace stretto
