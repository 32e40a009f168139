#include "conjugate_gradient/serial_driver.h"

#include <algorithm>
#include <memory>

namespace conjugate_gradient {
namespace {

struct Member {
  LocalSystem system;
  std::unique_ptr<Solver> solver;
  const Step* step = nullptr;
};

/// Every node's own values go where its peers keep them as ghosts.
void fill_ghosts(std::vector<Member>& members) {
  for (const Member& sender : members) {
    for (const PeerExchange& exchange : sender.system.peers) {
      Member& receiver = members[exchange.peer];
      const auto back =
          std::find_if(receiver.system.peers.begin(), receiver.system.peers.end(),
                       [&](const PeerExchange& candidate) { return &members[candidate.peer] == &sender; });
      for (std::size_t i = 0; i < sender.step->products().size(); ++i) {
        pack(exchange, sender.step->products()[i].input, ghosts_of(*back, receiver.step->products()[i].input));
      }
    }
  }
}

void add_up(std::vector<Member>& members) {
  std::vector<double> total(members.front().step->sums().size(), 0);
  for (const Member& member : members) {
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += member.step->sums()[i];
  }
  for (const Member& member : members) std::copy(total.begin(), total.end(), member.step->sums().begin());
}

}  // namespace

SerialResult solve_serially(const Problem& problem, std::span<const double> rhs, std::size_t nodes,
                            SolverOptions options) {
  if (options.max_iterations == 0) options.max_iterations = default_max_iterations(problem.rows());
  const Partition partition = problem.partition(nodes);
  std::vector<Member> members(nodes);
  for (std::size_t node = 0; node < nodes; ++node) {
    Member& member = members[node];
    member.system = problem.local_system(partition, static_cast<stretto::NodeId>(node));
    member.solver =
        std::make_unique<Solver>(member.system, rhs.subspan(member.system.range.begin, member.system.own), options);
  }
  for (;;) {
    for (Member& member : members) member.step = member.solver->next();
    if (members.front().step == nullptr) break;
    add_up(members);
    fill_ghosts(members);
    for (const Member& member : members) {
      multiply(member.system, member.system.interior, member.step->products());
      multiply(member.system, member.system.boundary, member.step->products());
    }
  }
  SerialResult result;
  result.outcome = members.front().solver->outcome();
  const auto history = members.front().solver->history();
  result.history.assign(history.begin(), history.end());
  for (const Member& member : members) {
    const auto part = member.solver->solution();
    result.solution.insert(result.solution.end(), part.begin(), part.end());
  }
  return result;
}

}  // namespace conjugate_gradient
