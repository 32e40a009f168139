#pragma once

#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "stretto/base/error.h"

// How programs begin and end. Each says in an `options.h` of its own what it is asked for, and reads that by a function
// that returns its Options or Help (see arguments.h). Used by the thread of `main`.

namespace stretto::program {

/// Exit statuses, beside 0.
inline constexpr int exit_failed = 1;   ///< bad input, or another error
inline constexpr int exit_refused = 2;  ///< the command line was not understood
inline constexpr int exit_wrong = 3;    ///< the program has found its results wrong, or has not come to them

/// The command line asked for help; `text` goes to stdout, and the program ends well.
struct Help {
  std::string text;
};

/// A command line that is refused, an Error(invalid_argument): why, and what explains the options.
class Refusal : public Error {
 public:
  explicit Refusal(std::string_view reason);
  /// The message: what is wrong with a command line needs no code.
  const char* what() const noexcept override { return message().c_str(); }
};

/// Throws Refusal.
[[noreturn]] void refuse(std::string_view reason);

/// What `check` returns. An Error that it throws, whatever its code, becomes a refusal.
template <class Check>
auto refusing(const Check& check) {
  try {
    return check();
  } catch (const Refusal&) {
    throw;
  } catch (const Error& problem) {
    refuse(problem.message());
  }
}

/// The exit status of a program that ends with `problem`: exit_refused for a Refusal, otherwise exit_failed.
int status_of(const std::exception& problem);

/// For the end of a program: `status`, but exit_failed in place of 0, after a line on standard error, where something
/// that it has printed to stdout is lost, as on a disk that is full.
int printed(const char* program, int status);

/// An exit status: what `body` returns (see printed), or, when it throws, that of what is thrown, after a line on
/// standard error that begins with the program's name.
template <class Body>
int guarded(const char* program, const Body& body) {
  try {
    return printed(program, body());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return status_of(error);
  }
}

/// For `main`: sets `options` to what `parse` returns, a variant of Options and Help. Where the program ends with that,
/// its exit status, after the help on stdout or the reason on standard error (see guarded).
template <class Parse, class Options>
std::optional<int> read_options(const char* program, const Parse& parse, Options& options) {
  bool asked_for_help = false;
  const int failed = guarded(program, [&] {
    auto parsed = parse();
    if (const auto* const help = std::get_if<Help>(&parsed)) {
      asked_for_help = true;
      std::fputs(help->text.c_str(), stdout);
    } else {
      options = std::move(std::get<Options>(parsed));
    }
    return 0;
  });
  if (failed == 0 && !asked_for_help) return std::nullopt;
  return failed;
}

}  // namespace stretto::program
