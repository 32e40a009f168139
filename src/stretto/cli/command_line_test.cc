#include "stretto/cli/command_line.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "stretto/base/settings.h"
#include "stretto/cli/test_support.h"
#include "stretto/collective/kernels.h"
#include "stretto/fabric/spec.h"
#include "stretto/schedule/cost_table.h"

namespace stretto::cli {
namespace {

using test::Outcome;
using test::output_of;
using test::run;
using test::Setting;

TEST(CommandLine, ExplainsItself) {
  for (const char* command : {"--help", "--version"}) {
    const Outcome outcome = run({command});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.out.find("tretto"), std::string::npos);
    EXPECT_EQ(outcome.err, "");
  }
  const Outcome help = run({"--help"});
  for (const char* command : {"run", "info", "verify", "simulate", "tune", "explain", "draw"}) {
    EXPECT_NE(help.out.find(std::string("\n  ") + command + " "), std::string::npos) << help.out;
    EXPECT_EQ(run({command, "--help"}).status, 0) << command;
  }
  EXPECT_NE(run({"info", "--help"}).out.find("--settings"), std::string::npos);
}

TEST(CommandLine, RefusesWhatItDoesNotUnderstand) {
  for (const std::vector<const char*>& arguments : std::vector<std::vector<const char*>>{
           {}, {"inform"}, {"--unknown"}, {"info", "--unknown"}, {"info", "surplus"}, {""}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with("stretto: ")) << outcome.err;
    EXPECT_TRUE(outcome.err.ends_with(" (--help explains the options)\n")) << outcome.err;
    EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << "one line: " << outcome.err;
  }
}

TEST(CommandLine, OutputThatIsLostIsAnError) {
  std::cout.setstate(std::ios::badbit);
  const Outcome outcome = run({"info"});
  std::cout.clear();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "stretto: the output could not be written\n");
}

TEST(CommandLine, WhatLooksLikeAnOptionIsNoProgram) {
  test::expect_refused("run -n 1 --fabric local:2 true", "--fabric is no option of `stretto run`");
}

TEST(InfoCommand, SaysWhatAJobWouldOfTheTuning) {
  const std::string path = test::path_of_own("no_costs.json");
  for (const std::string text : {"", "{}", "null", "{\"links\":"}) {
    std::ofstream(path) << text;
    const Setting setting("STRETTO_TUNING", path);
    test::expect_error("info", path);
  }
  std::remove(path.c_str());
  for (const std::string& unreadable : {path, std::string("/"), std::string("/dev/zero")}) {
    const Setting setting("STRETTO_TUNING", unreadable);
    test::expect_error("info", "STRETTO_TUNING names " + unreadable);
  }
}

TEST(CommandLine, RefusesSecondsThatAreNoNumber) {
  for (const std::string command :
       {"tune --seconds nan", "explain allreduce --nodes 2 --measure --seconds nan", "run -n 1 --grace nan true"}) {
    const Outcome outcome = test::run_line(command);
    EXPECT_EQ(outcome.status, 2) << command;
    EXPECT_NE(outcome.err.find("seconds, not nan"), std::string::npos) << outcome.err;
  }
}

// As names of files may be.
TEST(CommandLine, JsonShowsBytesThatAreNoUtf8) {
  const std::string start = test::path_of_own("");
  const std::string costs = start + "\xff.json";
  schedule::CostTable table = schedule::built_in_costs();
  table.of(schedule::Link::local).latency *= 2;
  std::ofstream(costs) << to_json(table);
  const std::string picture = start + "\xfe.svg";
  const Setting setting("STRETTO_TUNING", costs);
  const auto json_of = [](const std::string& command) { return nlohmann::json::parse(output_of(command)); };
  EXPECT_EQ(json_of("info --json").at("costs"), start + "\uFFFD.json");
  EXPECT_EQ(json_of("explain allreduce --nodes 2 --json").at("costs"), start + "\uFFFD.json");
  EXPECT_EQ(json_of("draw recursive_doubling --nodes 2 --json -o " + picture).at("file"), start + "\uFFFD.svg");
  std::remove(costs.c_str());
  std::remove(picture.c_str());
}

TEST(Info, ShowsTheMachine) {
  const Outcome outcome = run({"info"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  for (const char* heading : {"fabrics", "local", "sim", "cluster", "processors", "memories", "settings"}) {
    EXPECT_NE(outcome.out.find(heading), std::string::npos) << heading;
  }
}

TEST(Info, SpeaksJson) {
  const Outcome outcome = run({"info", "--json"});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find('\n'), outcome.out.size() - 1) << "one line";
  const auto object = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(object.at("fabrics").size(), 3U);
  EXPECT_GE(object.at("processors").at("threads"), 1);
  EXPECT_GE(object.at("processors").at("cores"), 1);
  EXPECT_NE(object.at("processors").at("cpus"), "");
  ASSERT_GE(object.at("memories").size(), 1U);
  EXPECT_GT(object.at("memories").at(0).at("bytes"), 0);
  EXPECT_EQ(object.at("operators").at("instructions"), kernels::name_of(kernels::best_instruction_set()));
  EXPECT_EQ(object.at("settings").size(), known_settings().size());
}

TEST(Info, ListsEveryOptionOfTheFabrics) {
  const Outcome text = run({"info", "--fabrics"});
  EXPECT_EQ(text.status, 0) << text.err;
  const auto object = nlohmann::json::parse(output_of("info --fabrics --json"));
  ASSERT_EQ(object.size(), 1U);
  std::size_t options = 0;
  for (const auto& fabric : object.at("fabrics")) {
    for (const auto& option : fabric.at("options")) {
      ++options;
      EXPECT_NE(text.out.find(option.at("name")), std::string::npos) << option;
      EXPECT_NE(text.out.find(option.at("meaning")), std::string::npos) << option;
    }
  }
  EXPECT_EQ(options, options_of(fabric::Spec::Kind::local).size() + options_of(fabric::Spec::Kind::sim).size());
  EXPECT_EQ(text.out.find("memories"), std::string::npos) << "and nothing else";
  EXPECT_NE(run({"info", "--fabrics", "--settings"}).status, 0);
}

TEST(Info, ListsEverySetting) {
  const Outcome text = run({"info", "--settings"});
  EXPECT_EQ(text.status, 0) << text.err;
  for (const SettingInfo& setting : known_settings()) {
    EXPECT_NE(text.out.find(setting.name), std::string::npos) << setting.name;
  }
  EXPECT_EQ(text.out.find("memories"), std::string::npos) << "and nothing else";

  ASSERT_EQ(setenv("STRETTO_WORKERS", "3", 1), 0);
  const Outcome json = run({"info", "--settings", "--json"});
  ASSERT_EQ(unsetenv("STRETTO_WORKERS"), 0);
  const auto object = nlohmann::json::parse(json.out);
  ASSERT_EQ(object.size(), 1U);
  bool found = false;
  for (const auto& setting : object.at("settings")) {
    if (setting.at("name") != "STRETTO_WORKERS") continue;
    found = true;
    EXPECT_EQ(setting.at("value"), "3");
    EXPECT_EQ(setting.at("default"), "0");
    EXPECT_EQ(setting.at("is_set"), true);
    EXPECT_EQ(setting.at("kind"), "count");
  }
  EXPECT_TRUE(found);
}

TEST(Info, FailsOnAnUnknownVariableAndStillListsTheKnown) {
  ASSERT_EQ(setenv("STRETTO_WORKRES", "3", 1), 0);
  const Outcome text = run({"info", "--settings"});
  const Outcome json = run({"info", "--json"});
  ASSERT_EQ(unsetenv("STRETTO_WORKRES"), 0);
  EXPECT_EQ(text.status, 1);
  EXPECT_EQ(text.err,
            "stretto: the environment variable STRETTO_WORKRES is not a setting of Stretto; "
            "did you mean STRETTO_WORKERS?\n");
  EXPECT_NE(text.out.find("STRETTO_FABRIC"), std::string::npos);
  EXPECT_EQ(json.status, 1);
  EXPECT_TRUE(nlohmann::json::accept(json.out));
}

}  // namespace
}  // namespace stretto::cli
