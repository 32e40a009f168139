#include "stretto/program/arguments.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "stretto/program/test_support.h"

namespace stretto::program {
namespace {

using test::expect_refused;

std::optional<Help> parse(Arguments& arguments, std::vector<const char*> words) {
  words.insert(words.begin(), "some_program");
  return arguments.parse(static_cast<int>(words.size()), words.data());
}

struct Values {
  int number = 1;
  std::uint32_t count = 2;
  double real = 3;
  std::optional<std::int64_t> whole;
  std::string text = "t";
  std::vector<std::size_t> sizes = {8, 16};
  std::vector<std::string> names;
  std::vector<std::int64_t> sides;
  std::vector<int> cores;
  bool raised = false;
  bool kept = true;

  void add_to(Arguments& arguments) {
    arguments.option("--number", number, "a number").between(-2, 7).shows_default();
    arguments.option("-c,--count", count, "how many").between(1U, 65536U);
    arguments.option("--real", real, "a real number");
    arguments.option("--whole", whole, "a whole number, or none").type_name("WHOLE");
    arguments.option("text", text, "told by its place");
    arguments.option("--sizes", sizes, "bytes").comma_separated().shows_default();
    arguments.option("--names", names, "names").comma_separated().one_of({"a", "b"});
    arguments.option("--sides", sides, "of a grid").values(3);
    arguments.option("--cores", cores, "two").values(2);
    arguments.flag("--raised", raised, "a flag");
    arguments.flag("!--dropped", kept, "a flag the other way");
  }
};

/// What `words` set, where all values may be given.
Values read(const std::vector<const char*>& words) {
  Arguments arguments("some_program", "What it does");
  Values values;
  values.add_to(arguments);
  EXPECT_FALSE(parse(arguments, words).has_value());
  return values;
}

std::string help_of(Arguments& arguments, const std::vector<const char*>& words = {"--help"}) {
  const std::optional<Help> help = parse(arguments, words);
  EXPECT_TRUE(help.has_value());
  return help ? help->text : "";
}

/// What --x VALUE comes to after `limit` was said of it: whether it is accepted.
template <class Value, class Limit>
bool accepts(const Limit& limit, const char* text) {
  Arguments arguments("some_program", "");
  Value value{};
  Argument argument = arguments.option("--x", value, "");
  limit(argument);
  const std::string word = std::string("--x=") + text;
  return !stretto::test::error_of([&] { parse(arguments, {word.c_str()}); }).has_value();
}

TEST(Arguments, AllKindsAreRead) {
  const Values values = read({"--number", "-2",      "-c",      "65536",   "--real", "1e-3",     "--whole=-9",
                              "word",     "--sizes", "1,2,3",   "--names", "b",      "--sides",  "4",
                              "5",        "6",       "--cores", "0",       "1",      "--raised", "--dropped"});
  EXPECT_EQ(values.number, -2);
  EXPECT_EQ(values.count, 65536U);
  EXPECT_EQ(values.real, 1e-3);
  EXPECT_EQ(values.whole, -9);
  EXPECT_EQ(values.text, "word");
  EXPECT_EQ(values.sizes, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(values.names, std::vector<std::string>{"b"});
  EXPECT_EQ(values.sides, (std::vector<std::int64_t>{4, 5, 6}));
  EXPECT_EQ(values.cores, (std::vector<int>{0, 1}));
  EXPECT_TRUE(values.raised);
  EXPECT_FALSE(values.kept);
}

TEST(Arguments, ValuesAreTheDefaults) {
  const Values values = read({});
  EXPECT_EQ(values.number, 1);
  EXPECT_EQ(values.whole, std::nullopt);
  EXPECT_EQ(values.text, "t");
  EXPECT_EQ(values.sizes, (std::vector<std::size_t>{8, 16}));
  EXPECT_FALSE(values.raised);
  EXPECT_TRUE(values.kept);
}

TEST(Arguments, RefusalsNameTheArgument) {
  for (const auto& bad : std::vector<test::BadCommandLine>{{{"--number", "x"}, "--number"},
                                                           {{"--number", "8"}, "--number"},
                                                           {{"--count", "0"}, "--count"},
                                                           {{"--count", "65537"}, "--count"},
                                                           {{"--count", "-1"}, "--count"},
                                                           {{"--whole", "1.5"}, "--whole"},
                                                           {{"--sizes", "8,x"}, "--sizes"},
                                                           {{"--names", "a,c"}, "must be one of a, b, not c"},
                                                           {{"--sides", "4", "5"}, "--sides"},
                                                           {{"--cores", "4", "--raised"}, "--cores"},
                                                           {{"--unknown"}, "--unknown"},
                                                           {{"word", "left over"}, "left over"}}) {
    expect_refused([&] { read(bad.arguments); }, bad.named);
  }
}

TEST(Arguments, ListsAreOneWord) {
  const Values values = read({"--sizes", "1", "2"});
  EXPECT_EQ(values.sizes, std::vector<std::size_t>{1});
  EXPECT_EQ(values.text, "2");
}

TEST(Arguments, HelpShowsThem) {
  Arguments arguments("some_program", "What it does");
  Values values;
  values.add_to(arguments);
  arguments.footer("At the end");
  const std::string help = help_of(arguments);
  for (const char* const part : {"What it does", "some_program [OPTIONS]", "--number INT:INT in [-2 - 7]=1",
                                 "UINT in [1 - 65536]", "--whole WHOLE", "=[8,16]", "{a,b}", "At the end"}) {
    EXPECT_NE(help.find(part), std::string::npos) << part << " in " << help;
  }
}

TEST(Arguments, WordsStandForValues) {
  enum class Kind : unsigned char { first, second };
  Arguments arguments("some_program", "");
  Kind kind = Kind::first;
  std::vector<Kind> kinds;
  arguments.choice("--kind", kind, {{"first", Kind::first}, {"second", Kind::second}}, "which");
  arguments.choice("--kinds", kinds, {{"one", {Kind::second}}, {"both", {Kind::first, Kind::second}}}, "which");
  EXPECT_NE(help_of(arguments).find("--kinds one|both"), std::string::npos);
  parse(arguments, {"--kind", "second", "--kinds", "both"});
  EXPECT_EQ(kind, Kind::second);
  EXPECT_EQ(kinds, (std::vector<Kind>{Kind::first, Kind::second}));
  expect_refused([&] { parse(arguments, {"--kind", "third"}); }, "--kind: must be one of first, second, not third");
}

TEST(Arguments, RequiredAndExcluded) {
  Arguments arguments("some_program", "");
  std::string text;
  bool one = false;
  bool other = false;
  arguments.option("--text", text, "").required();
  const Argument first = arguments.flag("--one", one, "");
  arguments.flag("--other", other, "").excludes(first);
  expect_refused([&] { parse(arguments, {"--one"}); }, "--text");
  expect_refused([&] { parse(arguments, {"--text", "t", "--one", "--other"}); }, "--one");
  EXPECT_FALSE(parse(arguments, {"--text", "t", "--other"}).has_value());
  EXPECT_TRUE(other);
}

TEST(Arguments, WholeDoubles) {
  const auto limit = [](Argument& argument) { argument.whole_doubles(); };
  for (const char* const good : {"8", "64", "1048576", "64K", "1MB"})
    EXPECT_TRUE(accepts<std::vector<std::size_t>>(limit, good)) << good;
  for (const char* const bad : {"0", "4", "12", "-8", "8x", "0K", "12B", "", "all"}) {
    EXPECT_FALSE(accepts<std::vector<std::size_t>>(limit, bad)) << bad;
  }
  Arguments arguments("some_program", "");
  std::vector<std::size_t> sizes;
  arguments.option("--sizes", sizes, "").comma_separated().whole_doubles();
  EXPECT_FALSE(parse(arguments, {"--sizes", "8,64K,1MiB"}).has_value());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{8, 65536, 1048576}));
}

TEST(Arguments, MeasuredSeconds) {
  const auto limit = [](Argument& argument) { argument.measured_seconds(); };
  for (const char* const good : {"1", "0.05", "1e-9", "3600"}) EXPECT_TRUE(accepts<double>(limit, good)) << good;
  for (const char* const bad : {"0", "-1", "3601", "nan", "inf", "1s", ""}) {
    EXPECT_FALSE(accepts<double>(limit, bad)) << bad;
  }
}

TEST(Arguments, SecondsWithin) {
  const auto limit = [](Argument& argument) { argument.seconds_within(0.5, 60); };
  for (const char* const good : {"0.5", "1", "60"}) EXPECT_TRUE(accepts<double>(limit, good)) << good;
  for (const char* const bad : {"0.4", "-1", "61", "nan", "-nan", "inf", "1s", ""}) {
    EXPECT_FALSE(accepts<double>(limit, bad)) << bad;
  }
  Arguments arguments("some_program", "");
  double seconds = 1;
  arguments.option("--x", seconds, "").seconds_within(0.5, 60);
  expect_refused([&] { parse(arguments, {"--x", "nan"}); }, "--x: must be from 0.5 to 60 seconds, not nan");
}

class Commands : public testing::Test {
 protected:
  Commands() {
    program.version("some_program 1.2");
    program.footer("Of all");
    Arguments& first = program.command("first", "Does one thing", [] { return 3; });
    first.flag("--flag", flag, "a flag");
    first.leave_rest(rest);
    program.command("second", "Does another", [] { return 4; }).footer("Of the second");
    program.command("third", "For nobody", [] { return 5; }).hide();
  }

  Arguments program{"some_program", "What it does"};
  bool flag = false;
  std::vector<std::string> rest;
};

TEST_F(Commands, OneIsRun) {
  EXPECT_FALSE(parse(program, {"second"}).has_value());
  EXPECT_EQ(program.run_command(), 4);
  EXPECT_FALSE(parse(program, {"third"}).has_value());
  EXPECT_EQ(program.run_command(), 5);
}

TEST_F(Commands, WordsAreLeft) {
  EXPECT_FALSE(parse(program, {"first", "--flag", "app", "--flag", "-x", "second"}).has_value());
  EXPECT_EQ(program.run_command(), 3);
  EXPECT_TRUE(flag);
  EXPECT_EQ(rest, (std::vector<std::string>{"app", "--flag", "-x", "second"}));
}

TEST_F(Commands, ExplainThemselves) {
  const std::string help = help_of(program);
  for (const char* const part : {"first", "Does another", "Of all"}) EXPECT_NE(help.find(part), std::string::npos);
  EXPECT_EQ(help.find("third"), std::string::npos);
  EXPECT_NE(help_of(program, {"first", "--help"}).find("Of all"), std::string::npos);
  const std::string of_second = help_of(program, {"second", "--help"});
  EXPECT_NE(of_second.find("Of the second"), std::string::npos);
  EXPECT_EQ(of_second.find("Of all"), std::string::npos);
  EXPECT_EQ(help_of(program, {"--version"}), "some_program 1.2\n");
}

TEST_F(Commands, OneMustBeNamed) {
  expect_refused([&] { parse(program, {}); }, "subcommand");
  expect_refused([&] { parse(program, {"fourth"}); }, "subcommand");
  expect_refused([&] { parse(program, {"second", "third"}); }, "third");
}

struct Ended {
  int status;
  std::string out;
  std::string errors;
};

/// How a program ends that is called so, and then does `body`.
Ended end_of(const std::vector<const char*>& words, const std::function<int()>& body) {
  std::vector<const char*> argv = {"./build/some_program"};
  argv.insert(argv.end(), words.begin(), words.end());
  Arguments arguments("some_program", "What it does");
  int number = 0;
  arguments.option("--number", number, "a number");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = arguments.run(static_cast<int>(argv.size()), argv.data(), body);
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(Arguments, RunEndsWithWhatTheBodyReturns) {
  const Ended ended = end_of({"--number", "3"}, [] { return 7; });
  EXPECT_EQ(ended.status, 7);
  EXPECT_EQ(ended.out + ended.errors, "");
}

TEST(Arguments, RunTellsRefusalsFromFailures) {
  const Ended refused = end_of({"--number", "x"}, [] { return 7; });
  EXPECT_EQ(refused.status, exit_refused);
  EXPECT_EQ(refused.out, "");
  EXPECT_TRUE(refused.errors.starts_with("some_program: ")) << refused.errors;
  EXPECT_TRUE(refused.errors.ends_with(" (--help explains the options)\n")) << refused.errors;
  const Ended late = end_of({}, []() -> int { refuse("--number and --other contradict each other"); });
  EXPECT_EQ(late.status, exit_refused);
  EXPECT_EQ(late.errors, "some_program: --number and --other contradict each other (--help explains the options)\n");
  const Ended failed = end_of({}, []() -> int { throw Error(ErrorCode::invalid_argument, "two nodes, not 3"); });
  EXPECT_EQ(failed.status, exit_failed);
  EXPECT_EQ(failed.errors, "some_program: invalid_argument: two nodes, not 3\n");
}

TEST(Arguments, RunShowsHelpInsteadOfWorking) {
  const Ended ended = end_of({"--help"}, [] { return 7; });
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.out.find("--number"), std::string::npos);
  EXPECT_EQ(ended.errors, "");
}

}  // namespace
}  // namespace stretto::program
