#include "stretto/schedule/compose.h"

#include <algorithm>

#include "stretto/schedule/builder.h"

namespace stretto::schedule {
namespace {

void pass_on(const Step& step, Sink& sink) {
  switch (step.kind) {
    case StepKind::send: return sink.send(step.peer, step.source());
    case StepKind::receive: return sink.receive(step.peer, step.destination());
    case StepKind::reduce: return sink.reduce(step.source(), step.destination(), step.order);
    case StepKind::copy: return sink.copy(step.source(), step.destination());
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
    std::vector<std::uint32_t> sources;
    std::vector<std::uint32_t> destinations;
    if (step.kind != StepKind::receive) sources = places_of(step.source());
    if (step.kind != StepKind::send) destinations = places_of(step.destination());
    add_runs(renamed, sources, destinations);
  }

  /// One step for each run of places that follow one another at either end.
  void add_runs(Step& step, const std::vector<std::uint32_t>& sources, const std::vector<std::uint32_t>& destinations) {
    const auto goes_on = [](const std::vector<std::uint32_t>& places, std::size_t at) {
      return places.empty() || places[at] == places[at - 1] + 1;
    };
    const std::size_t count = std::max(sources.size(), destinations.size());
    for (std::size_t first = 0; first < count;) {
      std::size_t end = first + 1;
      while (end < count && goes_on(sources, end) && goes_on(destinations, end)) ++end;
      const auto length = static_cast<std::uint32_t>(end - first);
      if (!sources.empty()) {
        name_source(step, {name_of(step.source_buffer).buffer, sources[first], length});
      }
      if (!destinations.empty()) {
        name_destination(step, {name_of(step.destination_buffer).buffer, destinations[first], length});
      }
      add(step);
      first = end;
    }
  }

  void add(const Step& step) {
    const bool is_identity = step.kind == StepKind::copy && step.source() == step.destination();
    if (is_identity || (step.count == 0 && !step.is_message())) return;
    has_received_ = has_received_ || step.kind == StepKind::receive;
    if (has_received_) {
      kept_back_.push_back(step);
    } else {
      pass_on(step, sink_);
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

  std::vector<std::uint32_t> places_of(const BlockRef& ref) const {
    const Buffer buffer = name_of(ref.buffer).buffer;
    // A buffer of one block has that which is due there.
    const bool has_one = (buffer == Buffer::input && input_blocks(whole_, me_) == 1) ||
                         (buffer == Buffer::output && output_blocks(whole_, me_) == 1);
    std::vector<std::uint32_t> places;
    for (std::uint32_t place = ref.first; place < ref.first + ref.count; ++place) {
      const std::uint32_t begin = vector_of(ref.buffer, place) * vector_blocks(whole_);
      const std::uint32_t block = block_at(part_.shape, part_.me, ref.buffer, place);
      for (const Rank rank : ranks_of(block)) places.push_back(has_one ? 0 : begin + rank);
    }
    return places;
  }

  /// Whose blocks are the part's block, in order.
  std::vector<Rank> ranks_of(std::uint32_t block) const {
    const BlockNames& names = part_.blocks;
    if (names.kind == BlockNames::Kind::of_ranks) return {part_.ranks[block]};
    std::vector<Rank> ranks;
    const std::uint32_t first = names.first + block * names.each;
    for (std::uint32_t host = first; host < first + names.each; ++host) {
      const std::span<const Rank> members = whole_.hosts.members(host);
      for (std::size_t at = names.share; at < members.size(); at += names.shares) ranks.push_back(members[at]);
    }
    std::sort(ranks.begin(), ranks.end());
    return ranks;
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
  for (const Step& step : kept_back) pass_on(step, sink);
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
