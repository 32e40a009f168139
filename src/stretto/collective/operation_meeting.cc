// The part of CollectiveOperation that meets the other members of its process (decision 49).

#include <memory>
#include <new>

#include "stretto/collective/collective_service.h"
#include "stretto/collective/joint_run.h"
#include "stretto/collective/operation_entry.h"
#include "stretto/collective/stream.h"
#include "stretto/core/cause.h"

namespace stretto {

// Nobody looks at what is noted of one that waits before this node lets go of the baton.
Event CollectiveOperation::meet(Stream& stream, Preparation& prepared) {
  const Event completion = completion_;
  go_by(stream, prepared, stream.take_sequence(1));
  // So that the caller may use its buffer again before the others have come. What its operator holds may refer to what
  // goes with the call, and could not be copied.
  const bool leaves = prepared.leaves && call_.operator_state == nullptr && copy_input();
  fabric::Item* released = nullptr;
  const Rank me = group().rank_of(service_.node().id());
  const Meeting::Arrival arrival = stream.meeting()->arrive(me, identity(), *this, prepared.met, released);
  release(released);
  switch (arrival) {
    case Meeting::Arrival::is_last: return do_all();
    case Meeting::Arrival::waits:
      stage_ = Stage::meeting;
      has_left_ = leaves;
      waits_since_look_ = service_.looks();
      stream.put_off(identity().sequence, 1);
      service_.wait_in_meeting(*this);
      if (leaves) return no_event;
      break;
    case Meeting::Arrival::refused: has_turn_ = false; service_.begin(*this);
  }
  return completion;
}

// The others' operations end under their nodes' batons; this one has nothing to wait for. Where there is no memory to
// do it for all, each goes on by itself.
Event CollectiveOperation::do_all() {
  const Entry entry(*this);
  const Event completion = completion_;
  has_turn_ = false;
  const bool is_done = run_jointly();
  for (const Meeting::Member& each : preparation_->met) {
    auto* const member = static_cast<CollectiveOperation*>(each.call);
    if (member == this) continue;
    member->is_done_by_other_ = is_done;
    member->failure_ = failure_;
    member->take_turn();
  }
  if (!is_done) {
    service_.begin(*this);
    return completion;
  }
  stage_ = Stage::over;
  let_go_of_call();
  if (failure_ == nullptr) {
    next_completion_ = completion;
    return no_event;
  }
  service_.node().events().complete(completion, failure_);
  return completion;
}

// False: there is no memory, and nothing was done. What the operator throws is noted as a failure.
bool CollectiveOperation::run_jointly() noexcept {
  std::unique_ptr<JointRun>& run = preparation_->joint_run;
  if (run == nullptr) {
    const schedule::Shape& shape = plan_->schedule().shape;
    try {
      run = std::make_unique<JointRun>(plan_->algorithm(), shape, Layout(call_, shape));
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  for (const Meeting::Member& each : preparation_->met) {
    run->set_member(each.rank, static_cast<CollectiveOperation*>(each.call)->call_);
  }
  try {
    run->run();
  } catch (...) {
    failure_ = cause_of_current_exception("a collective");
  }
  return true;
}

void CollectiveOperation::take_turn() noexcept { service_.endpoint().context().post(this); }

void CollectiveOperation::release(fabric::Item* members) noexcept {
  while (members != nullptr) {
    auto* const member = static_cast<CollectiveOperation*>(members);
    members = members->next;
    member->take_turn();
  }
}

void CollectiveOperation::end_meeting() {
  if (is_done_by_other_) {
    finish();
    return;
  }
  service_.leave_meeting(*this);
  service_.begin(*this);
}

std::vector<NodeId> CollectiveOperation::missing_in_meeting() const {
  std::vector<NodeId> nodes;
  for (const Rank rank : stream_->meeting()->missing(identity().sequence)) nodes.push_back(group().node(rank));
  return nodes;
}

}  // namespace stretto
