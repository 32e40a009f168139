#pragma once

#include "stretto/collective/operation.h"
#include "stretto/core/cause.h"

namespace stretto {

/// Keeps an operation alive while one of its functions runs; the last one out lets it go if it is over.
class CollectiveOperation::Entry {
 public:
  explicit Entry(CollectiveOperation& operation) noexcept : operation_(operation) { ++operation_.entered_; }
  ~Entry() {
    if (--operation_.entered_ > 0) return;
    if (operation_.stage_ == Stage::over && operation_.under_way_ == 0 && !operation_.has_turn_) operation_.leave();
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

 private:
  CollectiveOperation& operation_;
};

/// Calls `part`; what that throws fails the operation.
template <class Part>
void CollectiveOperation::or_fail(const Part& part) {
  try {
    part();
  } catch (...) {
    fail(cause_of_current_exception("a collective"), Tell::everybody);
  }
}

}  // namespace stretto
