#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stretto/program/command_line.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

// What programs ask of their command line. It is read by CLI11, whose header only arguments.cc includes: it takes long
// to compile. Used by the thread of `main`.

namespace stretto::program {

/// More on one of the Arguments, a part of them.
class Argument {
 public:
  Argument& required();
  Argument& excludes(const Argument& other);

  /// --help shows the value that it has where nobody gives another.
  Argument& shows_default();
  /// What --help calls its value.
  Argument& type_name(const std::string& name);

  /// Of a list: so many values, as words of their own.
  Argument& values(int count);
  /// Of a list: all values are in one word.
  Argument& comma_separated();

  Argument& one_of(const std::vector<std::string>& words);
  /// int and std::uint32_t.
  template <class Number>
  Argument& between(Number least, Number most);
  /// Bytes of doubles, one at least, as parse_bytes reads them: "8", "64K".
  Argument& whole_doubles();
  /// Refuses also what is no number, "nan".
  Argument& seconds_within(double least, double most);
  /// For how long to measure something. However short: what is measured in virtual time costs none of it.
  Argument& measured_seconds();

 private:
  friend class Arguments;
  explicit Argument(CLI::Option* option) : option_(option) {}

  CLI::Option* option_;
};

/// The arguments of a program, or of one of its commands. The names of options are such as "--nodes", "-n,--nodes" and,
/// of what is told by its place, "FILE". The values that are bound to them are the defaults, and outlive the parsing.
class Arguments {
 public:
  Arguments(const std::string& program, const std::string& description);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// Of int, std::uint32_t, double, std::optional<std::int64_t>, std::string, and vectors of int, std::int64_t,
  /// std::size_t and std::string.
  template <class Value>
  Argument option(const std::string& name, Value& value, const std::string& help);
  /// An option whose value is given by one of these words.
  template <class Value>
  Argument choice(const std::string& name, Value& value,
                  std::vector<std::pair<std::string, std::type_identity_t<Value>>> meanings, const std::string& help) {
    std::vector<std::string> words;
    for (const auto& [word, meaning] : meanings) words.push_back(word);
    return choice_of_words(
        name, words, [&value, meanings = std::move(meanings)](std::size_t chosen) { value = meanings[chosen].second; },
        help);
  }
  /// Of a name that begins with '!': sets `value` to false.
  Argument flag(const std::string& name, bool& value, const std::string& help);

  /// What --help ends with.
  void footer(const std::string& text);
  /// --version shows it.
  void version(const std::string& text);

  /// A command, one of which must be named, and what it does, which returns the exit status. It inherits the footer of
  /// now. Valid while this lives.
  Arguments& command(const std::string& name, const std::string& description, std::function<int()> body);
  /// Of a command: --help of the program does not name it.
  void hide();
  /// From the first word on that is no option of this, words are not read but go to `rest`.
  void leave_rest(std::vector<std::string>& rest);

  /// Reads the command line into the values; Help where that is asked for. Throws Refusal.
  std::optional<Help> parse(int argc, const char* const* argv);
  /// What the command that was parsed does. REQUIRES: there are commands.
  int run_command() const;
  /// For `main`: prints help, or does `body` with what was read. Returns the exit status (see guarded).
  int run(int argc, const char* const* argv, const std::function<int()>& body);

 private:
  Arguments(std::shared_ptr<CLI::App> command, std::function<int()> body);

  Argument choice_of_words(const std::string& name, const std::vector<std::string>& words,
                           const std::function<void(std::size_t)>& choose, const std::string& help);

  std::shared_ptr<CLI::App> app_;
  std::function<int()> body_;  // of a command
  std::vector<std::unique_ptr<Arguments>> commands_;
};

}  // namespace stretto::program
