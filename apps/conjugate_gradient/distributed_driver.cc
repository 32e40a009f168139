#include "conjugate_gradient/distributed_driver.h"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

#include "conjugate_gradient/mailbox.h"
#include "stretto/collective/collective.h"

namespace conjugate_gradient {
namespace {

using stretto::Error;
using stretto::ErrorCode;
using stretto::Event;
using stretto::Future;
using stretto::Group;
using stretto::Node;
using stretto::NodeId;
using stretto::Task;

std::size_t entries_in(const LocalSystem& system, std::span<const RowRange> runs) {
  std::size_t entries = 0;
  for (const RowRange& run : runs) {
    entries += system.matrix.row_start[run.end] - system.matrix.row_start[run.begin];
  }
  return entries;
}

void require_size(const Mailbox::Values& values, std::size_t expected) {
  if (values.size() == expected) return;
  throw Error(ErrorCode::mismatch, "a node sent " + std::to_string(values.size()) + " values where " +
                                       std::to_string(expected) + " belong: the nodes solve different systems");
}

/// What a peer packed, product by product, goes where the products expect it.
void unpack(const Mailbox::Values& values, const PeerExchange& exchange, std::span<const Product> products) {
  auto next = values.begin();
  for (const Product& product : products) {
    const std::span<double> ghosts = ghosts_of(exchange, product.input);
    const auto end = next + static_cast<std::ptrdiff_t>(ghosts.size());
    std::copy(next, end, ghosts.begin());
    next = end;
  }
}

// One node's part in a solve: the solver says what to do, this does it.
class Participant {
 public:
  Participant(Node& node, const LocalSystem& system, ChargedCost cost)
      : node_(node),
        system_(system),
        group_(Group::all(node)),
        interior_seconds_(seconds_of(system.interior, cost)),
        boundary_seconds_(seconds_of(system.boundary, cost)) {}

  Event meet() { return stretto::barrier(node_, group_); }

  Event reduce(std::span<double> sums) { return stretto::allreduce(node_, group_, sums, sums, stretto::sum); }

  /// Sends what peers need, computes what needs nothing of theirs, then the rest.
  Task<> multiply_all(std::span<const Product> products) {
    Mailbox& mailbox = Mailbox::of(node_);
    std::vector<Future<Mailbox::Letter>> letters;
    for (const PeerExchange& exchange : system_.peers) {
      const std::size_t count = exchange.send.size();
      Mailbox::Values outgoing(products.size() * count);
      for (std::size_t k = 0; k < products.size(); ++k) {
        pack(exchange, products[k].input, std::span(outgoing).subspan(k * count, count));
      }
      mailbox.send(exchange.peer, std::move(outgoing));
      letters.push_back(mailbox.receive(exchange.peer));
    }
    multiply(system_, system_.interior, products);
    node_.charge(interior_seconds_);
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const Mailbox::Letter letter = co_await letters[i];
      require_size(*letter, products.size() * system_.peers[i].ghost_count);
      unpack(*letter, system_.peers[i], products);
    }
    multiply(system_, system_.boundary, products);
    node_.charge(boundary_seconds_);
  }

  /// All parts of the solution, in order, at node 0; nothing elsewhere.
  Task<std::vector<double>> gather(const Partition& partition, std::span<const double> part) {
    Mailbox& mailbox = Mailbox::of(node_);
    if (node_.id() != 0) {
      co_await mailbox.send(0, Mailbox::Values(part.begin(), part.end()));
      co_return std::vector<double>();
    }
    std::vector<double> whole(partition.rows());
    std::copy(part.begin(), part.end(), whole.begin());
    for (NodeId peer = 1; peer < node_.size(); ++peer) {
      const Mailbox::Letter letter = co_await mailbox.receive(peer);
      require_size(*letter, partition.range(peer).size());
      std::copy(letter->begin(), letter->end(),
                whole.begin() + static_cast<std::ptrdiff_t>(partition.range(peer).begin));
    }
    co_return whole;
  }

 private:
  double seconds_of(std::span<const RowRange> runs, ChargedCost cost) const {
    return entry_bytes * static_cast<double>(entries_in(system_, runs)) / cost.bytes_per_second;
  }

  Node& node_;
  const LocalSystem& system_;
  Group group_;
  double interior_seconds_;
  double boundary_seconds_;
};

const Step* next_step(Solver& solver, std::exception_ptr& refusal) {
  try {
    return solver.next();
  } catch (const Error&) {
    refusal = std::current_exception();
    return nullptr;
  }
}

}  // namespace

Task<NodeResult> solve_distributed(Node& node, const Problem& problem, std::span<const double> rhs,
                                   SolverOptions options, const DriverOptions& driver) {
  if (options.max_iterations == 0) options.max_iterations = default_max_iterations(problem.rows());
  const Partition partition = problem.partition(node.size());
  const LocalSystem system = problem.local_system(partition, node.id());
  Solver solver(system, rhs.subspan(system.range.begin, system.own), options);
  Participant participant(node, system, driver.cost);
  const double sweep_seconds =
      sweep_bytes(options.method) * static_cast<double>(system.own) / driver.cost.bytes_per_second;

  NodeResult result;
  std::exception_ptr refusal;
  const double start = node.now();
  std::size_t swept = 0;
  while (const Step* const step = next_step(solver, refusal)) {
    const std::size_t iterations = solver.outcome().iterations;
    node.charge(sweep_seconds * static_cast<double>(iterations - swept));
    swept = iterations;
    Event reduced;
    if (!step->sums().empty()) reduced = participant.reduce(step->sums());
    if (!step->products().empty()) co_await participant.multiply_all(step->products());
    if (reduced.exists()) {
      const double before = node.now();
      co_await reduced;
      result.reduction_seconds += node.now() - before;
    }
    if (driver.progress && node.id() == 0 && !solver.history().empty()) {
      driver.progress(solver.history().size() - 1, solver.history().back(), node.now() - start);
    }
  }
  if (refusal != nullptr) {
    // All nodes find it in the same step. They leave together, so that none takes another's leaving for a death.
    co_await participant.meet();
    std::rethrow_exception(refusal);
  }
  result.seconds = node.now() - start;
  result.outcome = solver.outcome();
  result.history.assign(solver.history().begin(), solver.history().end());
  if (driver.gather_solution) result.solution = co_await participant.gather(partition, solver.solution());
  co_return result;
}

}  // namespace conjugate_gradient
