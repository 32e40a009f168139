#pragma once

#include <memory>
#include <vector>

#include "stretto/collective/program_run.h"
#include "stretto/collective/random_program.h"
#include "stretto/core/runtime.h"

namespace stretto::test {

/// The runs of all nodes of a program in this process. Lives longer than the nodes' mains: a node that triggers others'
/// events may do so after its own part, and where nodes die some mains never end.
class ProgramRuns {
 public:
  /// `saboteur` is the node that does the sabotage.
  ProgramRuns(const Program& program, const Runtime& runtime, Sabotage sabotage = Sabotage::none, NodeId saboteur = 0) {
    for (const Instruction& instruction : program.instructions) {
      user_events_.push_back(runtime.nodes()[instruction.trigger_node]->create_user_event());
    }
    for (const auto& node : runtime.nodes()) {
      const Sabotage its = node->id() == saboteur ? sabotage : Sabotage::none;
      runs_.push_back(std::make_unique<ProgramRun>(program, *node, user_events_, its));
    }
  }

  ProgramRun& of(NodeId node) { return *runs_[node]; }

 private:
  std::vector<UserEvent> user_events_;
  std::vector<std::unique_ptr<ProgramRun>> runs_;
};

}  // namespace stretto::test
