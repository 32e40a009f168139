#include "stretto/schedule/draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/schedule/test_support.h"

namespace stretto::schedule {
namespace {

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

std::size_t messages(const Algorithm& algorithm, const Shape& shape) {
  std::size_t messages = 0;
  for (const Program& program : test::programs(algorithm, shape)) {
    for (const Step& step : program.steps) messages += step.kind == StepKind::send ? 1 : 0;
  }
  return messages;
}

// Ranks that combine something in a round, over all rounds: each is one mark in a picture.
std::size_t ranks_reducing(const Algorithm& algorithm, const Shape& shape) {
  std::size_t reducing = 0;
  for (const Program& program : test::programs(algorithm, shape)) {
    for (std::size_t round = 0; round + 1 < program.round_offsets.size(); ++round) {
      const auto begin = program.steps.begin() + program.round_offsets[round];
      const auto end = program.steps.begin() + program.round_offsets[round + 1];
      reducing += std::any_of(begin, end, [](const Step& step) { return step.kind == StepKind::reduce; }) ? 1U : 0U;
    }
  }
  return reducing;
}

/// What keeps `xml` from being well formed: tags that do not nest, bare signs, attributes without quotes. Empty if
/// fine.
std::string defect_of_xml(std::string_view xml) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while (at < xml.size()) {
    const std::size_t tag = xml.find('<', at);
    const std::string_view text = xml.substr(at, tag - at);
    if (text.find('>') != std::string_view::npos) return "bare > in: " + std::string(text);
    if (tag == std::string_view::npos) break;
    const std::size_t end = xml.find('>', tag);
    if (end == std::string_view::npos) return "unclosed tag";
    const std::string_view inside = xml.substr(tag + 1, end - tag - 1);
    if (count(inside, "\"") % 2 != 0) return "unpaired quotes in: " + std::string(inside);
    const std::string name(inside.substr(0, inside.find_first_of(" /\n", 1)));
    if (inside.starts_with('/')) {
      if (open.empty() || '/' + open.back() != inside) return "unexpected " + std::string(inside);
      open.pop_back();
    } else if (!inside.ends_with('/')) {
      open.push_back(name);
    }
    at = end + 1;
  }
  if (!open.empty()) return "never closed: " + open.back();
  return {};
}

TEST(DrawSvg, IsWellFormedWithOneArrowForEachMessage) {
  for (const Algorithm* algorithm : algorithms()) {
    for (const Rank size : {1U, 2U, 3U, 6U, 13U, 16U, 32U, 33U}) {
      const Shape shape = test::shape(*algorithm, size);
      const std::string svg = draw_svg(*algorithm, shape);
      SCOPED_TRACE(test::label(*algorithm, shape));
      EXPECT_EQ(defect_of_xml(svg), "");
      EXPECT_TRUE(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
      EXPECT_EQ(count(svg, "<path d=\"M"), messages(*algorithm, shape) + 2) << "two are the heads of arrows";
      const std::size_t reductions = ranks_reducing(*algorithm, shape);
      EXPECT_EQ(count(svg, "class=\"reduce\""), reductions + (reductions > 0 ? 1 : 0)) << "one in the legend";
      EXPECT_EQ(count(svg, "class=\"head\""), size);
      EXPECT_EQ(count(svg, "nan"), 0U);
      EXPECT_NE(svg.find(">to a higher rank<"), std::string::npos);
    }
  }
}

TEST(DrawSvg, SaysWhichBlocksAnAllgatherMoves) {
  const Algorithm& algorithm = find_algorithm("recursive_doubling_allgather");
  const std::string svg = draw_svg(algorithm, {.operation = Operation::allgather, .size = 6});
  EXPECT_NE(svg.find("round 1: rank 2 to rank 0, block 2-3"), std::string::npos);
  EXPECT_NE(svg.find(">4-5</text>"), std::string::npos);
}

TEST(DrawSvg, MarksTheReceiversOfAReduce) {
  const std::string svg =
      draw_svg(find_algorithm("binomial_reduce"), {.operation = Operation::reduce, .size = 7, .root = 3});
  EXPECT_EQ(count(svg, "class=\"result\""), 2U) << "the root, and the legend";
  EXPECT_EQ(count(svg, "class=\"no-result\""), 7U) << "the others, and the legend";
  EXPECT_NE(svg.find("reduce of 7 ranks to rank 3: 3 rounds, 6 messages"), std::string::npos);
}

TEST(DrawDot, HasOneEdgeForEachMessage) {
  for (const Algorithm* algorithm : algorithms()) {
    for (const Rank size : {1U, 2U, 6U, 16U}) {
      const Shape shape = test::shape(*algorithm, size);
      const std::string dot = draw_dot(*algorithm, shape);
      SCOPED_TRACE(test::label(*algorithm, shape));
      EXPECT_TRUE(dot.starts_with("digraph \"" + std::string(algorithm->name()) + "\" {"));
      EXPECT_EQ(count(dot, "constraint=false"), messages(*algorithm, shape));
      EXPECT_EQ(count(dot, "{"), count(dot, "}"));
      EXPECT_EQ(count(dot, "["), count(dot, "]"));
      EXPECT_EQ(count(dot, "label=\"+\""), ranks_reducing(*algorithm, shape));
    }
  }
}

TEST(Draw, RefusesWhatCannotBeReadOrDone) {
  const Algorithm& algorithm = find_algorithm("recursive_doubling");
  EXPECT_THROW(draw_svg(algorithm, {.operation = Operation::allreduce, .size = max_drawn_size + 1}), Error);
  EXPECT_THROW(draw_dot(algorithm, {.operation = Operation::allreduce, .size = 0}), Error);
  EXPECT_THROW(draw_svg(algorithm, {.operation = Operation::barrier, .size = 4}), Error);
}

TEST(Draw, RefusesMoreRoundsThanCanBeRead) {
  const Algorithm& ring = find_algorithm("ring_allreduce");
  const Shape shape = ring.with_segments({.operation = Operation::allreduce, .size = max_drawn_size}, 5);
  for (const auto draw : {draw_svg, draw_dot}) {
    try {
      draw(ring, shape);
      FAIL() << "drawn";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(error.message().find("1270 rounds of 128 ranks cannot be read; draw fewer ranks, or fewer blocks"),
                std::string::npos)
          << error.message();
    }
  }
}

}  // namespace
}  // namespace stretto::schedule
