#pragma once

namespace stretto::fabric {

class Context;

/// Takes over contexts whose work outgrew what a passing thread may be asked to do.
class Overflow {
 public:
  virtual ~Overflow() = default;
  /// Sees to it that another thread serves `context` soon. Any thread, also under batons.
  virtual void hand_over(Context& context) noexcept = 0;
};

}  // namespace stretto::fabric
