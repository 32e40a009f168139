#include "stretto/program/command_line.h"

#include <CLI/CLI.hpp>

namespace stretto::program {
namespace {

/// Asks what is good, and not what is bad, of which NaN is nothing.
template <class IsGood>
CLI::Validator seconds_that(const IsGood& is_good, const std::string& range) {
  return CLI::Validator(
      [is_good, range](std::string& text) {
        double seconds = 0;
        const bool good = CLI::detail::lexical_cast(text, seconds) && is_good(seconds);
        return good ? std::string() : "must be " + range + " seconds, not " + text;
      },
      "SECONDS");
}

}  // namespace

void refuse(std::string_view message) {
  throw Error(ErrorCode::invalid_argument, std::string(message) + " (--help explains the options)");
}

std::optional<Help> parse(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return Help{app.help()};
  } catch (const CLI::ParseError& problem) {
    refuse(problem.what());
  }
}

CLI::Validator whole_doubles() {
  return CLI::Validator(
      [](std::string& text) {
        std::size_t bytes = 0;
        const bool is_number = !text.starts_with('-') && CLI::detail::lexical_cast(text, bytes);  // which takes -8, too
        const bool good = is_number && bytes > 0 && bytes % sizeof(double) == 0;
        return good ? std::string() : "must be a multiple of 8 bytes, not " + text;
      },
      "BYTES");
}

CLI::Validator word_for(std::map<std::string, int> numbers) {
  return CLI::Validator(
      [numbers = std::move(numbers)](std::string& text) {
        const auto found = numbers.find(text);
        if (found == numbers.end()) {
          std::string words;
          for (const auto& [word, number] : numbers) words += (words.empty() ? "" : ", ") + word;
          return "must be one of " + words + ", not " + text;
        }
        text = std::to_string(found->second);
        return std::string();
      },
      "");
}

CLI::Validator measured_seconds() {
  return seconds_that([](double seconds) { return seconds > 0 && seconds <= 3600; }, "more than 0 and at most 3600");
}

CLI::Validator seconds_within(double least, double most) {
  const std::string range = "from " + CLI::detail::to_string(least) + " to " + CLI::detail::to_string(most);
  return seconds_that([=](double seconds) { return seconds >= least && seconds <= most; }, range);
}

}  // namespace stretto::program
