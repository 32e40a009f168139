#include "stretto/cli/trial.h"

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "stretto/base/settings.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/make_call.h"
#include "stretto/program/median.h"

namespace stretto::cli {
namespace {

using schedule::Operation;
using schedule::Shape;

constexpr std::size_t fewest_calls = 3;
constexpr std::size_t most_calls = 2000;

/// How often what takes about `estimate` seconds is to be done.
std::size_t calls_within(double budget, double estimate) {
  const double calls = budget / std::max(estimate, 1e-7);
  return static_cast<std::size_t>(
      std::clamp(calls, static_cast<double>(fewest_calls), static_cast<double>(most_calls)));
}

/// Doubles of `blocks` of a rank's blocks, whose vector is in pieces or not.
std::size_t doubles(const Shape& shape, std::uint32_t blocks, std::uint64_t bytes) {
  const std::size_t block = (bytes + sizeof(double) - 1) / sizeof(double);
  if (schedule::cuts_vector(shape.operation)) return blocks == 0 ? 0 : block;
  return blocks * block;
}

SegmentArray<double> zeros(Node& node, std::size_t count) {
  if (count == 0) return {};
  SegmentArray<double> array(node, count);
  std::fill(array.begin(), array.end(), 0.0);
  return array;
}

/// Of sums of doubles, or of doubles that are moved. Lasts as long as the program.
const CallForm& form_of(const Shape& shape) {
  static std::map<std::pair<Operation, bool>, CallForm> forms;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  CallForm form = form_of_movement<Operation::barrier, double>;
  form.operation = shape.operation;
  if (schedule::is_reduction(shape.operation)) form.reduction = reduction_of<double, Sum>;
  form.reduction.commutative = shape.commutative;
  return forms.try_emplace({shape.operation, shape.commutative}, form).first->second;
}

}  // namespace

void bind_workers(RuntimeOptions& options) {
  if (!Settings::from_environment().is_set("STRETTO_BIND")) options.bind = true;
}

bool is_fabric_open(const RuntimeOptions& options) {
  return options.fabric == RuntimeOptions().fabric && !Settings::from_environment().is_set("STRETTO_FABRIC");
}

Trial::Trial(Node& node, const Group& group, const schedule::Algorithm& barrier, const schedule::Candidate& candidate,
             std::uint64_t bytes)
    : node_(node),
      group_(group),
      barrier_(CollectiveOptions().algorithm(barrier.name())),
      candidate_(candidate),
      form_(form_of(candidate.shape)) {
  const Shape& shape = candidate.shape;
  const Rank me = group.rank_of(node.id());
  input_ = zeros(node, doubles(shape, schedule::input_blocks(shape, me), bytes));
  output_ = zeros(node, doubles(shape, schedule::output_blocks(shape, me), bytes));
}

Event Trial::start() {
  const Shape& shape = candidate_.shape;
  const std::span<double> output(output_.data(), output_.size());
  // A broadcast has its data in one place at all ranks.
  const std::span<const double> input = shape.operation == Operation::broadcast
                                            ? std::span<const double>(output)
                                            : std::span<const double>(input_.data(), input_.size());
  CollectiveCall call = detail::call_of(form_, input, output);
  call.root = shape.root;
  call.contributors = shape.contributors;
  call.inner_receivers = shape.inner_receivers;
  CollectiveOptions options = CollectiveOptions().algorithm(candidate_.algorithm->name(), candidate_.segments);
  options.reproducible(shape.reproducible);
  return CollectiveService::of(node_).start(group_, std::move(call), options);
}

Task<double> Trial::seconds_of_calls(std::size_t count) {
  std::vector<double> mine(count);
  for (double& seconds : mine) {
    co_await barrier(node_, group_, barrier_);
    const double begin = node_.now();
    co_await start();
    seconds = node_.now() - begin;
  }
  std::vector<double> slowest(count);
  co_await allreduce(node_, group_, mine, slowest, maximum);
  std::nth_element(slowest.begin(), slowest.begin() + static_cast<std::ptrdiff_t>(count / 2), slowest.end());
  co_return slowest[count / 2];
}

Task<double> Trial::measure(double budget) {
  // With what a barrier costs, a call takes about twice its time.
  const double estimate = 2 * co_await seconds_of_calls(fewest_calls);
  co_return co_await seconds_of_calls(calls_within(budget, estimate));
}

namespace {

constexpr int rounds = 3;

/// Of a barrier, of so many that follow each other: the time of the slowest node.
Task<double> seconds_of_barriers(Node& node, const Group& group, const CollectiveOptions& how, std::size_t count) {
  co_await barrier(node, group, how);
  const double begin = node.now();
  for (std::size_t call = 0; call < count; ++call) co_await barrier(node, group, how);
  co_return co_await allreduce(node, group, (node.now() - begin) / static_cast<double>(count), maximum);
}

/// All of the group call it, and get the same.
Task<const schedule::Algorithm*> find_quickest_barrier(Node& node, const Group& group, double seconds) {
  struct Found {
    const schedule::Algorithm* algorithm = nullptr;
    std::vector<double> seconds = {};  // by round
  };
  Shape shape{.operation = Operation::barrier, .size = group.size()};
  shape.hosts = CollectiveService::of(node).hosts_of(group);
  std::vector<Found> found;
  for (const schedule::Algorithm* const algorithm : schedule::algorithms()) {
    if (algorithm->operation() == Operation::barrier && algorithm->supports(shape)) found.push_back({algorithm});
  }
  for (int round = 0; round < rounds; ++round) {
    for (Found& each : found) {
      const CollectiveOptions how = CollectiveOptions().algorithm(each.algorithm->name());
      const double estimate = co_await seconds_of_barriers(node, group, how, fewest_calls);
      const std::size_t calls = calls_within(seconds, estimate);
      each.seconds.push_back(co_await seconds_of_barriers(node, group, how, calls));
    }
  }
  const auto median = [](const Found& each) { return program::median_of(each.seconds); };
  co_return std::ranges::min_element(found, std::ranges::less(), median)->algorithm;
}

}  // namespace

Task<> measure_in_turns(Node& node, const Group& group, std::vector<Sample>& samples, double seconds) {
  constexpr double long_share = 0.1;  // what takes more of the seconds is not measured again: one round sees enough
  const Group all = Group::all(node);
  const bool is_member = group.contains(node.id());
  const schedule::Algorithm* const quickest =
      is_member ? co_await find_quickest_barrier(node, group, seconds) : nullptr;
  std::vector<std::vector<double>> found(samples.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (is_member && (round == 0 || found[i].front() < seconds * long_share)) {
        Trial trial(node, group, *quickest, samples[i].candidate, samples[i].bytes);
        found[i].push_back(co_await trial.measure(seconds));
      }
      if (group.size() < all.size()) co_await barrier(node, all);
    }
  }
  for (std::size_t i = 0; is_member && i < samples.size(); ++i) samples[i].seconds = program::median_of(found[i]);
}

}  // namespace stretto::cli
