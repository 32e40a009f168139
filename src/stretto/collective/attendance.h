#pragma once

#include <utility>

#include "stretto/fabric/context.h"

namespace stretto {

/// Why whoever serves a node stays with it for an operation's sake (see fabric::Context::engage and expect_request).
/// What is said twice counts once. Under the baton only.
class Attendance {
 public:
  void engage(fabric::Context& context) noexcept {
    if (!std::exchange(is_engaged_, true)) context.engage();
  }
  /// A peer has still to ask for what is to leave over a network.
  void expect_request(fabric::Context& context) noexcept {
    if (!std::exchange(expects_request_, true)) context.expect_request();
  }
  void note_request(fabric::Context& context) noexcept {
    if (std::exchange(expects_request_, false)) context.note_request();
  }
  /// Whether it is to stay.
  bool is_asked_for() const noexcept { return is_engaged_ || expects_request_; }
  /// It need not stay any more.
  void end(fabric::Context& context) noexcept {
    if (std::exchange(is_engaged_, false)) context.disengage();
    note_request(context);
  }

 private:
  bool is_engaged_ = false;
  bool expects_request_ = false;
};

}  // namespace stretto
