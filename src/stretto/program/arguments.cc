#include "stretto/program/arguments.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "stretto/base/units.h"

namespace stretto::program {
namespace {

std::string joined(const std::vector<std::string>& words, const char* separator) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : separator) + word;
  return text;
}

/// (CLI::IsMember says what is allowed only in its own notation.)
CLI::Validator word_of(const std::vector<std::string>& words, const std::string& description) {
  return CLI::Validator(
      [words](const std::string& text) {
        const bool good = std::ranges::find(words, text) != words.end();
        return good ? std::string() : "must be one of " + joined(words, ", ") + ", not " + text;
      },
      description);
}

/// Asks what is good, and not what is bad, of which NaN is nothing. (CLI::Range lets it pass.)
template <class IsGood>
CLI::Validator seconds_that(const IsGood& is_good, const std::string& range) {
  return CLI::Validator(
      [is_good, range](const std::string& text) {
        double seconds = 0;
        const bool good = CLI::detail::lexical_cast(text, seconds) && is_good(seconds);
        return good ? std::string() : "must be " + range + " seconds, not " + text;
      },
      "SECONDS");
}

}  // namespace

Argument& Argument::required() {
  option_->required();
  return *this;
}

Argument& Argument::excludes(const Argument& other) {
  option_->excludes(other.option_);
  return *this;
}

Argument& Argument::shows_default() {
  option_->capture_default_str();
  return *this;
}

Argument& Argument::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Argument& Argument::values(int count) {
  option_->expected(count);
  return *this;
}

Argument& Argument::comma_separated() {
  option_->delimiter(',')->allow_extra_args(false);
  return *this;
}

Argument& Argument::one_of(const std::vector<std::string>& words) {
  option_->check(word_of(words, "{" + joined(words, ",") + "}"));
  return *this;
}

template <class Number>
Argument& Argument::between(Number least, Number most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

template Argument& Argument::between(int, int);
template Argument& Argument::between(std::uint32_t, std::uint32_t);

Argument& Argument::whole_doubles() {
  const auto read = [](std::string& text) {
    try {
      const std::uint64_t bytes = parse_bytes(text);
      if (bytes == 0 || bytes % sizeof(double) != 0) return "must be a multiple of 8 bytes, not " + text;
      text = std::to_string(bytes);
      return std::string();
    } catch (const Error& problem) {
      return problem.message();
    }
  };
  option_->transform(CLI::Validator(read, "BYTES"));
  return *this;
}

Argument& Argument::seconds_within(double least, double most) {
  const std::string range = "from " + CLI::detail::to_string(least) + " to " + CLI::detail::to_string(most);
  option_->check(seconds_that([=](double seconds) { return seconds >= least && seconds <= most; }, range));
  return *this;
}

Argument& Argument::measured_seconds() {
  option_->check(
      seconds_that([](double seconds) { return seconds > 0 && seconds <= 3600; }, "more than 0 and at most 3600"));
  return *this;
}

Arguments::Arguments(const std::string& program, const std::string& description)
    : app_(std::make_shared<CLI::App>(description, program)) {}

Arguments::Arguments(std::shared_ptr<CLI::App> command, std::function<int()> body)
    : app_(std::move(command)), body_(std::move(body)) {}

template <class Value>
Argument Arguments::option(const std::string& name, Value& value, const std::string& help) {
  return Argument(app_->add_option(name, value, help));
}

template Argument Arguments::option(const std::string&, int&, const std::string&);
template Argument Arguments::option(const std::string&, std::uint32_t&, const std::string&);
template Argument Arguments::option(const std::string&, double&, const std::string&);
template Argument Arguments::option(const std::string&, std::optional<std::int64_t>&, const std::string&);
template Argument Arguments::option(const std::string&, std::string&, const std::string&);
template Argument Arguments::option(const std::string&, std::vector<int>&, const std::string&);
template Argument Arguments::option(const std::string&, std::vector<std::int64_t>&, const std::string&);
template Argument Arguments::option(const std::string&, std::vector<std::size_t>&, const std::string&);
template Argument Arguments::option(const std::string&, std::vector<std::string>&, const std::string&);

Argument Arguments::choice_of_words(const std::string& name, const std::vector<std::string>& words,
                                    const std::function<void(std::size_t)>& choose, const std::string& help) {
  const auto take = [words, choose](const CLI::results_t& given) {
    choose(static_cast<std::size_t>(std::ranges::find(words, given.front()) - words.begin()));
    return true;
  };
  CLI::Option* const option = app_->add_option(name, CLI::callback_t(take), help);
  return Argument(option->check(word_of(words, ""))->type_name(joined(words, "|")));
}

Argument Arguments::flag(const std::string& name, bool& value, const std::string& help) {
  return Argument(app_->add_flag(name, value, help));
}

void Arguments::footer(const std::string& text) { app_->footer(text); }

void Arguments::version(const std::string& text) { app_->set_version_flag("--version", text); }

Arguments& Arguments::command(const std::string& name, const std::string& description, std::function<int()> body) {
  app_->require_subcommand(1);
  const std::shared_ptr<CLI::App> command = app_->get_subcommand_ptr(app_->add_subcommand(name, description));
  commands_.push_back(std::unique_ptr<Arguments>(new Arguments(command, std::move(body))));
  return *commands_.back();
}

void Arguments::hide() { app_->group(""); }

void Arguments::leave_rest(std::vector<std::string>& rest) {
  app_->prefix_command();
  app_->callback([app = app_.get(), &rest] { rest = app->remaining(); });
}

std::optional<Help> Arguments::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::CallForHelp&) {
    return Help{app_->help()};
  } catch (const CLI::CallForVersion& version) {
    return Help{version.what() + std::string("\n")};
  } catch (const CLI::ParseError& problem) {
    refuse(problem.what());
  }
}

int Arguments::run_command() const {
  const auto named = std::ranges::find_if(commands_, [](const auto& command) { return command->app_->parsed(); });
  return (*named)->body_();
}

int Arguments::run(int argc, const char* const* argv, const std::function<int()>& body) {
  return guarded(app_->get_name().c_str(), [&] {
    const std::optional<Help> help = parse(argc, argv);
    if (!help) return body();
    std::fputs(help->text.c_str(), stdout);
    return 0;
  });
}

}  // namespace stretto::program
