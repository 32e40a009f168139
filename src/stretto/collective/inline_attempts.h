#pragma once

#include <algorithm>
#include <cstdint>

namespace stretto {

/// Which of the calls that are alike are worth an attempt to do them inline: where the peers of some were late, those
/// of the next ones mostly are, too, and an attempt that is given up costs a part of what others save. After two that
/// failed in a row, the next 2 calls go without one, and twice as many after each further one, up to 32.
class InlineAttempts {
 public:
  /// Of the next call.
  bool worth_it() noexcept {
    if (left_out_ == 0) return true;
    --left_out_;
    return false;
  }
  /// How an attempt went.
  void note(bool done) noexcept {
    if (done) {
      failures_ = 0;
      return;
    }
    failures_ = std::min(failures_ + 1, most_failures);
    if (failures_ > 1) left_out_ = 1U << (failures_ - 1);
  }

 private:
  static constexpr std::uint32_t most_failures = 6;

  std::uint32_t failures_ = 0;  // in a row
  std::uint32_t left_out_ = 0;
};

}  // namespace stretto
