#include "stretto/schedule/compose.h"

#include <algorithm>
#include <utility>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

/// Places of a buffer that follow one another.
struct Run {
  std::uint32_t first;
  std::uint32_t count;
};
using Runs = std::vector<Run>;

void append(const Run& run, Runs& runs) {
  if (!runs.empty() && runs.back().first + runs.back().count == run.first) {
    runs.back().count += run.count;
  } else {
    runs.push_back(run);
  }
}

/// Hands on a part's steps of one round in the names of the whole. Those from its first receive on are kept back: sends
/// of other parts come before them.
class Renaming final : public Sink {
 public:
  Renaming(const Shape& whole, Rank me, const Part& part, Sink& sink, std::vector<Step>& kept_back)
      : whole_(whole), me_(me), part_(part), sink_(sink), kept_back_(kept_back) {}

 private:
  void emit(const Step& step) override {
    Step renamed = step;
    if (step.is_message()) renamed.peer = part_.ranks[step.peer];
    if (part_.blocks.kind == BlockNames::Kind::slices) {
      if (step.kind != StepKind::receive) name_source(renamed, run_of(step.source()));
      if (step.kind != StepKind::send) name_destination(renamed, run_of(step.destination()));
      return add(renamed);
    }
    sources_.clear();
    destinations_.clear();
    if (step.kind != StepKind::receive) find_runs(step.source(), sources_);
    if (step.kind != StepKind::send) find_runs(step.destination(), destinations_);
    add_runs(renamed);
  }

  /// One step for each run of places that follow one another at either end.
  void add_runs(Step step) {
    const Buffer from = name_of(step.source_buffer).buffer;
    const Buffer to = name_of(step.destination_buffer).buffer;
    const auto left = [](const Runs& runs, std::size_t at) { return runs.empty() ? ~0U : runs[at].count; };
    for (std::size_t source = 0, destination = 0; source < sources_.size() || destination < destinations_.size();) {
      const std::uint32_t count = std::min(left(sources_, source), left(destinations_, destination));
      if (!sources_.empty()) name_source(step, {from, take(sources_, source, count), count});
      if (!destinations_.empty()) name_destination(step, {to, take(destinations_, destination, count), count});
      add(step);
    }
  }

  /// Takes so many places off a run, goes on to the next one where there are no more, and returns the first of them.
  static std::uint32_t take(Runs& runs, std::size_t& at, std::uint32_t count) {
    Run& run = runs[at];
    const std::uint32_t first = run.first;
    run.first += count;
    run.count -= count;
    if (run.count == 0) ++at;
    return first;
  }

  void add(const Step& step) {
    const bool is_identity = step.kind == StepKind::copy && step.source() == step.destination();
    if (is_identity || (step.count == 0 && !step.is_message())) return;
    has_received_ = has_received_ || step.kind == StepKind::receive;
    if (has_received_) {
      kept_back_.push_back(step);
    } else {
      sink_.pass_on(step);
    }
  }

  const BufferName& name_of(Buffer buffer) const {
    switch (buffer) {
      case Buffer::input: return part_.input;
      case Buffer::output: return part_.output;
      case Buffer::scratch: break;
    }
    return part_.scratch;
  }

  /// The number of a place's vector, of the whole.
  std::uint32_t vector_of(Buffer buffer, std::uint32_t place) const {
    const std::uint32_t vector = buffer == Buffer::scratch ? place / vector_blocks(part_.shape) : 0;
    return name_of(buffer).vector + vector;
  }

  BlockRef run_of(const BlockRef& ref) const {
    const BlockNames& names = part_.blocks;
    if (ref.count * names.each == 0) return nothing();
    const std::uint32_t block = ref.first % vector_blocks(part_.shape);
    const std::uint32_t first =
        vector_of(ref.buffer, ref.first) * vector_blocks(whole_) + names.first + block * names.each;
    return {name_of(ref.buffer).buffer, first, ref.count * names.each};
  }

  /// Run by run, never block by block where that can be avoided: a host's blocks are many.
  void find_runs(const BlockRef& ref, Runs& runs) const {
    const Buffer buffer = name_of(ref.buffer).buffer;
    // A buffer of one block has that which is due there.
    const bool has_one = (buffer == Buffer::input && input_blocks(whole_, me_) == 1) ||
                         (buffer == Buffer::output && output_blocks(whole_, me_) == 1);
    for (std::uint32_t place = ref.first; place < ref.first + ref.count; ++place) {
      const std::uint32_t begin = vector_of(ref.buffer, place) * vector_blocks(whole_);
      if (has_one) {
        append({0, 1}, runs);
      } else {
        add_blocks(block_at(part_.shape, part_.me, ref.buffer, place), begin, runs);
      }
    }
  }

  /// The blocks that are the part's block, in order, in the vector that begins there.
  void add_blocks(std::uint32_t block, std::uint32_t begin, Runs& runs) const {
    const BlockNames& names = part_.blocks;
    const Hosts& hosts = whole_.hosts;
    if (names.kind == BlockNames::Kind::of_ranks) return append({begin + part_.ranks[block], 1}, runs);
    if (names.kind == BlockNames::Kind::of_hosts) return add_members(hosts.members(block), begin, runs);
    if (names.shares == 1) return append({begin, whole_.size}, runs);
    for (std::uint32_t host = 0; host < hosts.count(); ++host) add_members(hosts.members(host), begin, runs);
    if (!hosts.are_in_order()) sort(runs);
  }

  void add_members(std::span<const Rank> members, std::uint32_t begin, Runs& runs) const {
    const BlockNames& names = part_.blocks;
    if (names.shares == 1 && members.back() - members.front() + 1 == members.size()) {
      return append({begin + members.front(), static_cast<std::uint32_t>(members.size())}, runs);
    }
    for (std::size_t at = names.share; at < members.size(); at += names.shares) append({begin + members[at], 1}, runs);
  }

  static void sort(Runs& runs) {
    std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
    const Runs sorted = std::exchange(runs, {});
    for (const Run& run : sorted) append(run, runs);
  }

  static void name_source(Step& step, const BlockRef& ref) {
    step.source_buffer = ref.buffer;
    step.source_first = ref.first;
    step.count = ref.count;
  }
  static void name_destination(Step& step, const BlockRef& ref) {
    step.destination_buffer = ref.buffer;
    step.destination_first = ref.first;
    step.count = ref.count;
  }

  const Shape& whole_;
  Rank me_;
  const Part& part_;
  Sink& sink_;
  std::vector<Step>& kept_back_;
  Runs sources_;       ///< of the step that is handed on
  Runs destinations_;  ///< the same at its other end, of a reduce or copy
  bool has_received_ = false;
};

std::uint32_t scratch_vectors(const Part& part) {
  if (part.blocks.each == 0) return 0;
  const std::uint32_t slots = part.algorithm->scratch_blocks(part.shape, part.me);
  const std::uint32_t blocks = vector_blocks(part.shape);
  std::uint32_t vectors = part.scratch.vector + (slots + blocks - 1) / blocks;
  for (const BufferName& name : {part.input, part.output}) {
    if (name.buffer == Buffer::scratch) vectors = std::max(vectors, name.vector + 1);
  }
  return vectors;
}

}  // namespace

std::string_view Composition::source() const noexcept {
  return "Kielmann et al., \"MagPIe: MPI's collective communication operations for clustered wide area systems\", "
         "PPoPP 1999";
}

std::uint32_t Composition::rounds(const Shape& shape) const {
  std::uint32_t rounds = 0;
  for (std::uint32_t phase = 0; phase < phases; ++phase) rounds += rounds_of(shape, phase);
  return rounds;
}

void Composition::steps(const Shape& shape, Rank me, std::uint32_t round, Sink& sink) const {
  std::uint32_t phase = 0;
  for (std::uint32_t its = rounds_of(shape, phase); round >= its; its = rounds_of(shape, ++phase)) round -= its;
  std::vector<Step> kept_back;
  for (const Part& part : parts_of(shape, phase, me)) {
    if (round >= part.algorithm->rounds(part.shape)) continue;
    Renaming renaming(shape, me, part, sink, kept_back);
    part.algorithm->steps(part.shape, part.me, round, renaming);
  }
  for (const Step& step : kept_back) sink.pass_on(step);
}

std::uint32_t Composition::scratch_blocks(const Shape& shape, Rank me) const {
  std::uint32_t vectors = 0;
  for (std::uint32_t phase = 0; phase < phases; ++phase) {
    for (const Part& part : parts_of(shape, phase, me)) vectors = std::max(vectors, scratch_vectors(part));
  }
  return vectors * vector_blocks(shape);
}

Shape part_shape(const Shape& whole, Operation operation, Rank size, Rank root, std::uint32_t blocks) {
  const bool is_ordered = is_reduction(operation) && !whole.commutative;
  return {.operation = operation,
          .size = size,
          .root = root,
          .blocks = blocks,
          .commutative = !is_ordered,
          .reproducible = is_ordered && whole.reproducible};
}

Part inside(const Shape& whole, const Algorithm& algorithm, Rank me, Rank root) {
  const std::uint32_t host = whole.hosts.of(me);
  const auto size = static_cast<Rank>(whole.hosts.members(host).size());
  return {.algorithm = &algorithm,
          .shape = part_shape(whole, algorithm.operation(), size, whole.hosts.place(root)),
          .ranks = Subgroup::of_host(whole.hosts, host),
          .me = whole.hosts.place(me),
          .blocks = {.each = vector_blocks(whole)}};
}

std::uint32_t rounds_inside(const Shape& whole, const Algorithm& algorithm) {
  const Rank most = whole.hosts.most();
  if (most == 1) return 0;
  // A root that is not the first rank may cost a further round.
  return std::max(algorithm.rounds(part_shape(whole, algorithm.operation(), most)),
                  algorithm.rounds(part_shape(whole, algorithm.operation(), most, 1)));
}

Rank slices_of(const Shape& whole, Slices slices) { return slices == Slices::one ? 1 : whole.hosts.fewest(); }

Rank leader_of_host(const Shape& whole, Rank me, Rank root) {
  return Subgroup::across(whole.hosts, root)[whole.hosts.of(me)];
}

}  // namespace stretto::schedule
