#include "ping_pong/stretto_courier.h"

#include <algorithm>
#include <string>

#include "ping_pong/problem.h"

namespace ping_pong_bench {

using stretto::Error;
using stretto::ErrorCode;
using stretto::Event;
using stretto::Node;
using stretto::SpawnOptions;
using stretto::Task;

namespace {

std::vector<double> echo(Node&, const std::vector<double>& values) { return values; }
void take(Node&, const std::vector<double>&) {}

void check_values(std::span<const double> values, std::size_t count) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == element(i % count)) continue;
    throw Error(ErrorCode::invalid_state, "what came is not what was sent: element " + std::to_string(i) + " of " +
                                              std::to_string(count) + " is " + std::to_string(values[i]));
  }
}

}  // namespace

const char* name_of(Variant variant) noexcept {
  switch (variant) {
    case Variant::broadcast: return "broadcast";
    case Variant::reduce: return "general reduce";
    case Variant::task: return "remote task";
  }
  return "unknown";
}

Courier::Courier(Node& node, Variant variant, std::size_t bytes)
    : node_(node),
      variant_(variant),
      count_(bytes / sizeof(double)),
      window_(window_of(bytes)),
      first_(node.id() == 0),
      outgoing_(node, count_),
      incoming_(node, window_ * count_),
      argument_(count_) {
  for (std::size_t i = 0; i < count_; ++i) argument_[i] = outgoing_[i] = element(i);
  std::fill(incoming_.begin(), incoming_.end(), 0.0);
}

Event Courier::give(bool answers, std::size_t index) {
  const bool gives = first_ != answers;
  const std::span<double> arriving = slot(index);
  const std::span<double> leaving = answers ? arriving : std::span<double>(outgoing_);
  if (variant_ == Variant::broadcast) return broadcast(node_, pair_, gives ? leaving : arriving, answers ? 1 : 0);
  const std::span<const double> input = gives ? leaving : std::span<double>();
  const std::span<double> output = gives ? std::span<double>() : arriving;
  return reduce(node_, answers ? back_ : there_, input, output, stretto::sum);
}

Task<> Courier::round_trip() {
  if (variant_ == Variant::task) {
    if (first_) result_ = co_await node_.spawn_on<&echo>(1, SpawnOptions(), argument_);
    co_return;
  }
  co_await give(false, 0);
  co_await give(true, 0);
}

Task<> Courier::give_window() {
  std::vector<Event> given;
  if (variant_ == Variant::task) {
    for (std::size_t i = 0; first_ && i < window_; ++i) {
      given.push_back(node_.spawn_on<&take>(1, SpawnOptions(), argument_));
    }
    for (const Event each : given) co_await each;
    co_return;
  }
  for (std::size_t i = 0; i < window_; ++i) given.push_back(give(false, i));
  for (const Event each : given) co_await each;
  double all_there = 1;
  co_await broadcast(node_, pair_, std::span<double>(&all_there, 1), 1);
}

void Courier::check(std::size_t messages) const {
  if (variant_ == Variant::task) {
    if (first_ && result_.size() != count_) throw Error(ErrorCode::invalid_state, "a task's result has another length");
    check_values(result_, count_);
  } else {
    check_values(std::span<const double>(incoming_.data(), messages * count_), count_);
  }
}

}  // namespace ping_pong_bench
