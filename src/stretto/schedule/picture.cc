#include "stretto/schedule/picture.h"

#include <algorithm>

#include "stretto/base/error.h"
#include "stretto/schedule/draw.h"
#include "stretto/schedule/materialize.h"

namespace stretto::schedule {
namespace {

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

/// Names the blocks of a message. What an all_to_all keeps in scratch are blocks of several pairs of ranks, without a
/// name.
std::string label_of(const Shape& shape, Rank me, const Step& send) {
  if (send.count == 0 || vector_blocks(shape) == 1) return {};
  if (shape.operation == Operation::all_to_all && send.source_buffer == Buffer::scratch) return {};
  const std::uint32_t first = block_at(shape, me, send.source_buffer, send.source_first);
  std::string label = std::to_string(first);
  if (send.count > 1) label += '-' + std::to_string(first + send.count - 1);
  return label;
}

void add_rank(const Shape& shape, Rank me, const Program& program, Picture& picture) {
  for (std::uint32_t round = 0; round < picture.rounds; ++round) {
    Picture::Work& work = picture.works[round][me];
    for (std::uint32_t i = program.round_offsets[round]; i < program.round_offsets[round + 1]; ++i) {
      const Step& step = program.steps[i];
      work.copies |= step.kind == StepKind::copy;
      work.reduces |= step.kind == StepKind::reduce;
      if (step.kind != StepKind::send) continue;
      const std::string label = label_of(shape, me, step);
      picture.arrows.push_back({round, me, step.peer, label,
                                "round " + std::to_string(round) + ": rank " + std::to_string(me) + " to rank " +
                                    std::to_string(step.peer) + (label.empty() ? "" : ", block " + label)});
    }
  }
}

void require_drawable(const Algorithm& algorithm, const Shape& shape) {
  if (shape.size > max_drawn_size) {
    throw Error(ErrorCode::invalid_argument, "a picture of " + std::to_string(shape.size) +
                                                 " ranks cannot be read; draw at most " +
                                                 std::to_string(max_drawn_size));
  }
  const std::uint32_t rounds = algorithm.rounds(shape);
  if (std::uint64_t{rounds} * shape.size <= max_drawn_places) return;
  throw Error(ErrorCode::invalid_argument,
              "a picture of " + std::to_string(rounds) + " rounds of " + std::to_string(shape.size) +
                  " ranks cannot be read; draw fewer ranks, or fewer blocks, so that rounds times ranks are at most " +
                  std::to_string(max_drawn_places));
}

}  // namespace

Picture picture_of(const Algorithm& algorithm, const Shape& shape) {
  algorithm.require(shape);
  require_drawable(algorithm, shape);
  Picture picture;
  picture.rounds = algorithm.rounds(shape);
  picture.works.assign(picture.rounds, std::vector<Picture::Work>(shape.size));
  picture.title = algorithm.name();
  std::replace(picture.title.begin(), picture.title.end(), '_', ' ');
  picture.source = algorithm.source();
  picture.shape = shape;
  for (Rank me = 0; me < shape.size; ++me) add_rank(shape, me, write_program(algorithm, shape, me), picture);
  picture.subtitle =
      describe(shape) + ": " + counted(picture.rounds, "round") + ", " + counted(picture.arrows.size(), "message");
  return picture;
}

}  // namespace stretto::schedule
