#pragma once

#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "stretto/base/error.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

// What the command lines of programs share. Each program says in an `options.h` of its own what it is asked for, and
// reads that with CLI11, by a function that returns its Options or Help. Used by the thread of `main`.

namespace stretto::program {

/// The command line asked for help; `text` goes to stdout, and the program ends well.
struct Help {
  std::string text;
};

/// Throws Error(invalid_argument): the message, and what explains the options.
[[noreturn]] void refuse(std::string_view message);

/// What `check` returns. An Error that it throws, whatever its code, becomes a refusal.
template <class Check>
auto refusing(const Check& check) {
  try {
    return check();
  } catch (const Error& problem) {
    refuse(problem.message());
  }
}

/// Reads the command line into what `app` has been told of; Help where that is asked for. Refuses what it can't read.
std::optional<Help> parse(CLI::App& app, int argc, const char* const* argv);

/// Of an option: bytes of doubles, one at least.
CLI::Validator whole_doubles();

/// Of an option, as its `transform`: a word that stands for a number, such as that of an enumerator. (The errors of
/// CLI::CheckedTransformer print the values, and end at the one that is zero if they have one byte.)
CLI::Validator word_for(std::map<std::string, int> numbers);
/// Those of enumerators.
template <class Enum>
std::map<std::string, int> numbers_of(const std::map<std::string, Enum>& values) {
  std::map<std::string, int> numbers;
  for (const auto& [word, value] : values) numbers[word] = static_cast<int>(value);
  return numbers;
}

/// Of an option: for how long to measure something, in seconds. However short: what is measured in virtual time costs
/// none of it.
CLI::Validator measured_seconds();

/// Of an option: seconds from `least` to `most`. Unlike CLI::Range it refuses what is no number, "nan".
CLI::Validator seconds_within(double least, double most);

/// An exit status: what `body` returns, or, when it throws, 1 after a line on standard error that begins with the
/// program's name.
template <class Body>
int guarded(const char* program, const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
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
