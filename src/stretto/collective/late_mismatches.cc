#include "stretto/collective/late_mismatches.h"

#include "stretto/base/error.h"
#include "stretto/base/log.h"
#include "stretto/collective/mismatch.h"

namespace stretto {

void LateMismatches::note_failure(const Identity& identity, const Cause& cause, bool is_heard) {
  if (is_heard) {
    last_ = identity;
  } else if (cause->code() == ErrorCode::mismatch) {
    report(identity, cause->message());
  }
}

Cause LateMismatches::note(const Stream::Past& ours, NodeId from, const CallHeader& theirs) {
  const Cause cause = mismatch(describe(ours), from, theirs, what_may_differ);
  report(theirs.identity, cause->message());
  return cause;
}

void LateMismatches::note(const Stream::Past* ours, const FailedHeader& header, ConstByteSpan text) {
  if (static_cast<ErrorCode>(header.code) != ErrorCode::mismatch) return;
  const std::string here = ours == nullptr ? std::string() : "; here: " + describe(*ours);
  report(header.identity, std::string(reinterpret_cast<const char*>(text.data()), text.size()) + here);
}

void LateMismatches::report(const Identity& identity, const std::string& text) {
  if (last_.stream == identity.stream && last_.sequence == identity.sequence) return;
  last_ = identity;
  Logger(node_.surroundings().log_level, "node " + std::to_string(node_.id())).warning("mismatch: ", text);
}

std::string LateMismatches::describe(const Stream::Past& ours) const {
  return "node " + std::to_string(node_.id()) + "'s collective at " + call_site(ours.where) + ", which is over,";
}

}  // namespace stretto
