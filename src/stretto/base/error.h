#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace stretto {

/// Why an operation was refused or failed. Stable names: they appear in logs, JSON and tests.
enum class ErrorCode : std::uint8_t {
  invalid_argument,  ///< a value that the caller passed is outside of what is allowed
  invalid_state,     ///< the call is not legal now (triggered twice, waited for under a lock, ...)
  not_supported,     ///< a legal request that this build, machine or fabric cannot serve
  out_of_resources,  ///< memory, segment space, event slots or descriptors are used up
  bad_input,         ///< a file, a setting or a message does not have the form it must have
  io,                ///< the operating system refused; the message holds its reason
  peer_lost,         ///< a node of the job died or became unreachable
  poisoned,          ///< user code threw what is no Error; the message holds its what()
  cancelled,         ///< withdrawn, or the job is shutting down
  deadlock,          ///< nothing can run any more although work is outstanding
  mismatch,          ///< nodes disagree on what a collective operation is
  internal,          ///< a defect of Stretto itself
};

/// The stable lower-case name of `code`, for example "peer_lost".
std::string_view name_of(ErrorCode code) noexcept;

/// What Stretto throws on misuse and what poisoned events carry.
///
/// The message names the argument, its value and the remedy, in one or two sentences.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message);

  ErrorCode code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  /// "code: message".
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  ErrorCode code_;
  std::string message_;
  std::string text_;
};

}  // namespace stretto
