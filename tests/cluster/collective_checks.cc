#include "collective_checks.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "probe.h"
#include "stretto/collective/collective.h"
#include "stretto/collective/collective_service.h"
#include "stretto/core/segment_array.h"

namespace stretto::probe {
namespace {

struct Affine {  // x -> a x + b, which do not commute
  std::uint64_t a, b;
  friend bool operator==(const Affine&, const Affine&) = default;
};
struct Compose {
  Affine operator()(const Affine& f, const Affine& g) const { return {f.a * g.a, f.a * g.b + f.b}; }
};

// One collective of a group, of `count` words of each rank in that round, done as `options` say.
struct Trial {
  Node& node;
  const Group& group;
  std::size_t count;
  std::uint64_t round;
  CollectiveOptions options;

  Rank rank() const { return group.rank_of(node.id()); }
  Rank root() const { return static_cast<Rank>(round % group.size()); }
  Words mine() const { return words_of(rank(), count, round); }
  Words sums() const { return sum_of_words(group.size(), count, round); }
  Words blocks_of_all() const {
    Words all;
    for (Rank from = 0; from < group.size(); ++from) {
      const Words theirs = words_of(from, count, round);
      all.insert(all.end(), theirs.begin(), theirs.end());
    }
    return all;
  }
  std::string named(const char* operation) const {
    return std::string(operation) + " of " + std::to_string(count) + " words " + std::string(options.algorithm());
  }
};

void check_broadcast(const Trial& trial) {
  Words data = trial.rank() == trial.root() ? trial.mine() : Words(trial.count);
  broadcast(trial.node, trial.group, data, trial.root(), trial.options).wait();
  check(data == words_of(trial.root(), trial.count, trial.round), trial.named("a broadcast"));
}

void check_reduce(const Trial& trial) {
  const Words mine = trial.mine();
  const bool is_root = trial.rank() == trial.root();
  Words at_root(is_root ? trial.count : 0);
  reduce(trial.node, trial.group, mine, at_root, sum, trial.root(), trial.options).wait();
  check(!is_root || at_root == trial.sums(), trial.named("a reduce"));
}

void check_allreduce(const Trial& trial) {
  const Words mine = trial.mine();
  Words everywhere(trial.count);
  allreduce(trial.node, trial.group, mine, everywhere, sum, trial.options).wait();
  check(everywhere == trial.sums(), trial.named("an all-reduce"));
}

void check_allgather(const Trial& trial) {
  const Words mine = trial.mine();
  Words gathered(trial.count * trial.group.size());
  allgather(trial.node, trial.group, mine, gathered, trial.options).wait();
  check(gathered == trial.blocks_of_all(), trial.named("an all-gather"));
}

void check_gather(const Trial& trial) {
  const Words mine = trial.mine();
  const bool is_root = trial.rank() == trial.root();
  Words gathered(is_root ? trial.count * trial.group.size() : 0);
  gather(trial.node, trial.group, mine, gathered, trial.root(), trial.options).wait();
  check(!is_root || gathered == trial.blocks_of_all(), trial.named("a gather"));
}

void check_scatter(const Trial& trial) {
  const Words all = trial.rank() == trial.root() ? trial.blocks_of_all() : Words();
  Words got(trial.count);
  scatter(trial.node, trial.group, all, got, trial.root(), trial.options).wait();
  check(got == trial.mine(), trial.named("a scatter"));
}

void check_reduce_scatter(const Trial& trial) {
  const std::size_t all = trial.count * trial.group.size();
  const Words terms = words_of(trial.rank(), all, trial.round);
  const Words sums = sum_of_words(trial.group.size(), all, trial.round);
  Words got(trial.count);
  reduce_scatter(trial.node, trial.group, terms, got, sum, trial.options).wait();
  check(std::equal(got.begin(), got.end(), sums.begin() + static_cast<std::ptrdiff_t>(trial.rank() * trial.count)),
        trial.named("a reduce-scatter"));
}

// Of an all-to-all: what this rank gives, and gets, a part for each rank; `size` of what one gives to another.
struct Parts {
  template <class Size>
  Parts(const Trial& trial, const Size& size) {
    const Rank ranks = trial.group.size();
    const Rank me = trial.rank();
    for (Rank rank = 0; rank < ranks; ++rank) {
      add(given, given_counts, words_of(me * ranks + rank, size(me, rank), trial.round));
      add(expected, expected_counts, words_of(rank * ranks + me, size(rank, me), trial.round));
    }
  }
  static void add(Words& all, std::vector<std::size_t>& counts, const Words& part) {
    all.insert(all.end(), part.begin(), part.end());
    counts.push_back(part.size());
  }

  Words given;
  Words expected;
  std::vector<std::size_t> given_counts;
  std::vector<std::size_t> expected_counts;
};

void check_all_to_all(const Trial& trial) {
  const Parts parts(trial, [&](Rank, Rank) { return trial.count; });
  Words got(parts.expected.size());
  all_to_all(trial.node, trial.group, parts.given, got, trial.options).wait();
  check(got == parts.expected, trial.named("an all-to-all"));
}

// Each pair gives each other different numbers of words, some of them none.
void check_all_to_all_of_counts(const Trial& trial) {
  const std::size_t unit = trial.count / trial.group.size() + 1;
  const Parts parts(trial, [&](Rank from, Rank to) { return (from + 2 * to + 1) % 3 * unit; });
  Words got(parts.expected.size());
  all_to_all(trial.node, trial.group, parts.given, parts.given_counts, got, parts.expected_counts, trial.options)
      .wait();
  check(got == parts.expected, trial.named("an all-to-all of counts"));
}

void check_scan(const Trial& trial) {
  const Words mine = trial.mine();
  Words got(trial.count);
  scan(trial.node, trial.group, mine, got, sum, trial.options).wait();
  check(got == sum_of_words(trial.rank() + 1, trial.count, trial.round), trial.named("a scan"));
}

void check_exscan(const Trial& trial) {
  const Words mine = trial.mine();
  Words got(trial.count);
  exscan(trial.node, trial.group, mine, got, sum, trial.options).wait();
  check(trial.rank() == 0 || got == sum_of_words(trial.rank(), trial.count, trial.round), trial.named("an exscan"));
}

void check_barrier(const Trial& trial) { barrier(trial.node, trial.group, trial.options).wait(); }

void check_order_of_operands(Node& node) {
  const auto affine = [](std::uint64_t n) { return Affine{2 * n + 3, n + 5}; };
  Affine expected = affine(0);
  for (NodeId peer = 1; peer < node.size(); ++peer) expected = Compose()(expected, affine(peer));
  check(allreduce(node, Group::all(node), affine(node.id()), Compose()).get() == expected, "the order of operands");
}

void check_groups(Node& node) {
  std::vector<NodeId> even;
  for (NodeId peer = 0; peer < node.size(); peer += 2) even.insert(even.begin(), peer);
  const Group group(even);
  if (!group.contains(node.id())) return;
  for (const std::size_t count : word_counts) check_collectives(node, group, count, count);
}

// All to the even ones, twice, which may travel as one where it is little, beside node 0 to the last one.
void check_concurrent_reduces(Node& node) {
  std::vector<NodeId> even;
  for (NodeId peer = 0; peer < node.size(); peer += 2) even.push_back(peer);
  const ReduceGroups to_even(Group::all(node), Group(even));
  const ReduceGroups to_last(Group{0}, Group{last_of(node)});
  for (const std::size_t count : word_counts) {
    const Words mine = words_of(node.id(), count, 0);
    const Words more = words_of(node.id(), count, 1);
    std::vector<Words> got(3, Words(count));
    const std::vector<Event> done = concurrent(
        node, {reduce_call(to_even, count, mine, got[0], sum), reduce_call(to_even, count, more, got[1], sum),
               reduce_call(to_last, count, mine, got[2], sum)});
    node.merge(done).wait();
    for (std::uint64_t round = 0; round < 2 && node.id() % 2 == 0; ++round) {
      check(got[round] == sum_of_words(node.size(), count, round), "a concurrent reduce of " + std::to_string(count));
    }
    check(node.id() != last_of(node) || got[2] == words_of(0, count, 0), "the reduce beside those");
  }
}

void check_deferred_collectives(Node& node) {
  constexpr std::size_t count = 1000;
  const Group all = Group::all(node);
  const UserEvent go = node.create_user_event();
  const Words mine = words_of(node.id(), count, 0);
  Words sums(count);
  Words gathered(count * node.size());
  const Event reduced = allreduce(node, all, mine, sums, sum, CollectiveOptions().after(go));
  const Event joined = allgather(node, all, sums, gathered, CollectiveOptions().after(reduced));
  const Event met = barrier(node, all, CollectiveOptions().after(joined));
  std::vector<Future<std::uint64_t>> many;
  for (std::uint64_t i = 0; i < 50; ++i) {
    many.push_back(allreduce(node, all, i * node.id(), maximum, CollectiveOptions().after(met).key(i)));
  }
  check(!met.has_triggered(), "a collective ran before its precondition");
  node.trigger(go);
  for (std::uint64_t i = 0; i < many.size(); ++i) check(many[i].get() == i * last_of(node), "a deferred all-reduce");
  check(sums == sum_of_words(node.size(), count, 0), "a deferred all-reduce of words");
  for (std::size_t i = 0; i < gathered.size(); ++i) check(gathered[i] == sums[i % count], "a deferred all-gather");
}

// What each of `ranks` gives to `rank`, of words that lie in equal blocks, one for each.
Words blocks_for(Rank rank, Rank ranks, std::size_t count, std::uint64_t round) {
  const auto block = static_cast<std::ptrdiff_t>(count / ranks);
  Words all;
  for (Rank each = 0; each < ranks; ++each) {
    const Words theirs = words_of(each, count, round);
    all.insert(all.end(), theirs.begin() + rank * block, theirs.begin() + (rank + 1) * block);
  }
  return all;
}

// The same vectors again and again, which peers read where they lie, or where they were staged, to combine them or to
// copy them. How many of these calls needed no event. REQUIRES: of what is copied, there is a block for each.
std::size_t lend(Node& node, const Group& all, std::size_t count, bool in_segment, bool are_combined) {
  std::size_t inline_calls = 0;
  SegmentArray<std::uint64_t> shared(node, in_segment ? 2 * count : 1);
  Words own(in_segment ? 0 : 2 * count);
  const auto mine = in_segment ? std::span(shared).first(count) : std::span(own).first(count);
  const std::span<const std::uint64_t> given = mine;
  const std::span<std::uint64_t> got(mine.data() + count, count);
  for (std::uint64_t round = 0; round < 300; ++round) {
    const Words values = words_of(node.id(), count, round);
    std::copy(values.begin(), values.end(), mine.begin());
    const Event done = are_combined ? allreduce(node, all, given, got, sum) : all_to_all(node, all, given, got);
    inline_calls += done.exists() ? 0U : 1U;
    done.wait();
    // Who still read it would see this.
    std::fill(mine.begin(), mine.end(), ~std::uint64_t{0});
    const Words expected =
        are_combined ? sum_of_words(node.size(), count, round) : blocks_for(node.id(), node.size(), count, round);
    check(std::equal(got.begin(), got.end(), expected.begin()), "what was lent, round " + std::to_string(round));
  }
  return inline_calls;
}

// The same where one gets what the others give, and then gives to all.
std::size_t lend_one_way(Node& node, const Group& all, std::size_t count, bool in_segment) {
  std::size_t inline_calls = 0;
  SegmentArray<std::uint64_t> shared(node, in_segment ? 2 * count : 1);
  Words own(in_segment ? 0 : 2 * count);
  const auto mine = in_segment ? std::span(shared).first(count) : std::span(own).first(count);
  const std::span<const std::uint64_t> given = mine;
  for (std::uint64_t round = 0; round < 200; ++round) {
    const Rank root = static_cast<Rank>(round % node.size());
    const std::span<std::uint64_t> got(mine.data() + count, root == node.id() ? count : 0);
    const auto end = [&](const Event& done) {
      inline_calls += done.exists() ? 0U : 1U;
      done.wait();
    };
    const Words values = words_of(node.id(), count, round);
    std::copy(values.begin(), values.end(), mine.begin());
    end(reduce(node, all, given, got, sum, root));
    std::fill(mine.begin(), mine.end(), ~std::uint64_t{0});
    const Words expected = sum_of_words(node.size(), got.size(), round);
    check(std::equal(got.begin(), got.end(), expected.begin()), "what was given, round " + std::to_string(round));
    const Words told = words_of(root, count, round);
    if (root == node.id()) std::copy(told.begin(), told.end(), mine.begin());
    end(broadcast(node, all, mine, root));
    check(std::equal(mine.begin(), mine.end(), told.begin()), "what was told, round " + std::to_string(round));
    std::fill(mine.begin(), mine.end(), ~std::uint64_t{0});
  }
  return inline_calls;
}

std::size_t lend(Node& node, const Group& all) {
  std::size_t inline_calls = 0;
  for (const std::size_t count : {1024U, 5000U, 8192U, 16'384U, 32'768U}) {
    for (const bool in_segment : {true, false}) inline_calls += lend_one_way(node, all, count, in_segment);
  }
  for (const std::size_t count : {128U, 384U, 1024U, 8192U}) {
    for (const bool in_segment : {true, false}) {
      inline_calls += lend(node, all, count, in_segment, true);
      inline_calls += lend(node, all, count * node.size(), in_segment, false);
    }
  }
  barrier(node, all).wait();
  const std::size_t kept = CollectiveService::of(node).receipts().bytes();
  check(node.endpoint().segment().bytes_in_use() == kept, "what was staged is still in use");
  return inline_calls;
}

void pass_by(Node&) {}

// One node's failed precondition fails the collective everywhere, and harms no other.
void check_poisoned_collectives(Node& node) {
  const Group all = Group::all(node);
  const UserEvent ready = node.create_user_event();
  const Event done = barrier(node, all, CollectiveOptions().after(ready));
  if (node.id() == last_of(node)) {
    node.poison(ready, Error(ErrorCode::io, "on purpose"));
  } else {
    node.trigger(ready);
  }
  check(code_of(done) == ErrorCode::io, "the cause of a poisoned collective");
  barrier(node, all).wait();
}

}  // namespace

void check_collectives(Node& node, const Group& group, std::size_t count, std::uint64_t round) {
  const Trial trial{node, group, count, round, CollectiveOptions()};
  for (const auto& checked : {check_broadcast, check_reduce, check_allreduce, check_allgather, check_barrier}) {
    checked(trial);
  }
}

void check_all_collectives(Node& node) {
  std::uint64_t round = 0;
  const Group all = Group::all(node);
  for (const std::size_t count : word_counts) {
    check_all_to_all_of_counts({node, all, count, round, CollectiveOptions()});
    check_collectives(node, all, count, round++);
  }
  check_order_of_operands(node);
  check_groups(node);
  check_concurrent_reduces(node);
  check_deferred_collectives(node);
  check_poisoned_collectives(node);
}

void check_by_hosts(Node& node) {
  static const std::map<schedule::Operation, void (*)(const Trial&)> checks = {
      {schedule::Operation::broadcast, check_broadcast},
      {schedule::Operation::reduce, check_reduce},
      {schedule::Operation::allreduce, check_allreduce},
      {schedule::Operation::allgather, check_allgather},
      {schedule::Operation::gather, check_gather},
      {schedule::Operation::scatter, check_scatter},
      {schedule::Operation::reduce_scatter, check_reduce_scatter},
      {schedule::Operation::all_to_all, check_all_to_all},
      {schedule::Operation::scan, check_scan},
      {schedule::Operation::exscan, check_exscan},
      {schedule::Operation::barrier, check_barrier}};
  const Group all = Group::all(node);
  std::size_t tried = 0;
  for (const schedule::Algorithm* const algorithm : schedule::algorithms()) {
    if (!algorithm->needs_hosts()) continue;
    ++tried;
    for (const std::size_t count : {1U, 100U, 30'000U}) {
      for (std::uint64_t round = 0; round < node.size(); ++round) {
        checks.at(algorithm->operation())({node, all, count, round, CollectiveOptions().algorithm(algorithm->name())});
      }
    }
  }
  check(tried > 10, "that there are such algorithms");
  say(node, "of " + std::to_string(node.size()) + " OK");
}

namespace {

std::string said_of(const Event& event) {
  try {
    event.wait();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing";
}

bool has_part(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

void check_disagreements(Node& node) {
  const Group all = Group::all(node);
  for (const std::size_t count : {std::size_t{3}, std::size_t{100'000}}) {
    Words mine(count, 1);
    Words result(count);
    const std::span<const std::uint64_t> in(mine);
    const std::span<const std::int64_t> as_signed(reinterpret_cast<const std::int64_t*>(mine.data()), count);
    const std::span<std::int64_t> to_signed(reinterpret_cast<std::int64_t*>(result.data()), count);
    const std::map<std::string, std::function<Event()>> odd_calls = {
        {"count", [&] { return allreduce(node, all, in.first(2), std::span(result).first(2), sum); }},
        {"type", [&] { return allreduce(node, all, as_signed, to_signed, sum); }},
        {"operator", [&] { return allreduce(node, all, mine, result, maximum); }},
        {"operation", [&] { return barrier(node, all); }},
        {"reproducible", [&] { return allreduce(node, all, mine, result, sum, CollectiveOptions().reproducible()); }},
    };
    for (const auto& [what, call_odd] : odd_calls) {
      const std::string said = said_of(node.id() == 1 ? call_odd() : allreduce(node, all, mine, result, sum));
      check(said.starts_with("mismatch: node ") && has_part(said, "node 1") && has_part(said, "collective_checks.cc:"),
            "what is said of another " + what + ": " + said);
      check(allreduce(node, all, std::uint64_t{1}, sum).get() == node.size(), "the call after that");
    }
  }
  int value = 1;
  check(said_of(broadcast(node, all, std::span(&value, 1), node.id() % 2)) == "nothing", "two roots");
  check(allreduce(node, all, std::uint64_t{1}, sum).get() == node.size(), "the last call");
  say(node, "of " + std::to_string(node.size()) + " OK");
}

void check_inline_collectives(Node& node) {
  const Group all = Group::all(node);
  std::size_t inline_calls = 0;
  std::uint64_t mine = 0;
  std::uint64_t total = 0;
  for (std::uint64_t round = 0; round < 5000; ++round) {
    mine = round * (node.id() + 1);
    if (round % 500 == node.id()) node.spawn_on<pass_by>(next_of(node), SpawnOptions()).wait();
    const Event done = allreduce(node, all, std::span(&mine, 1), std::span(&total, 1), sum);
    inline_calls += done.exists() ? 0U : 1U;
    done.wait();
    check(total == round * node.size() * (node.size() + 1) / 2, "a small all-reduce in round " + std::to_string(round));
    barrier(node, all).wait();
  }
  const std::size_t lent = lend(node, all);
  // Which is a matter of the cores.
  if (node.id() == 0) say(node, "inline " + std::to_string(inline_calls) + " lent " + std::to_string(lent));
  const Event odd =
      node.id() == 0 ? barrier(node, all) : allreduce(node, all, std::span(&mine, 1), std::span(&total, 1), sum);
  check(code_of(odd) == ErrorCode::mismatch, "the cause where calls disagree that were alike so far");
  check(allreduce(node, all, std::uint64_t{1}, sum).get() == node.size(), "the call after that");
  say(node, "OK");
}

}  // namespace stretto::probe
