#include <fcntl.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "stretto/cli/test_support.h"
#include "stretto/cli/trial.h"
#include "stretto/collective/collective_service.h"
#include "stretto/collective/make_call.h"
#include "stretto/schedule/select.h"

namespace stretto::cli {
namespace {

using test::expect_error;
using test::expect_refused;
using test::output_of;
using test::Setting;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(ExplainCommand, ShowsCandidatesInTheOrderOfTheirPrices) {
  const auto found = nlohmann::json::parse(output_of("explain allreduce --nodes 8 --bytes 1MiB --cores 8 --json"));
  EXPECT_EQ(found.at("bytes"), 1 << 20);
  EXPECT_EQ(found.at("link"), "local");
  EXPECT_EQ(found.at("costs"), "built in");
  double last = 0;
  for (const auto& candidate : found.at("candidates")) {
    EXPECT_GE(candidate.at("predicted_seconds").get<double>(), last * (1 - 1e-6));
    last = candidate.at("predicted_seconds");
  }
  schedule::Request request;
  request.shape.size = 8;
  request.bytes = 1 << 20;
  request.placement = {schedule::Link::local, 8, 8};
  EXPECT_EQ(found.at("candidates").at(0).at("algorithm"),
            select(request, schedule::built_in_costs()).algorithm->name());
  const std::string text = output_of("explain allreduce --nodes 8 --bytes 1M --cores 8");
  EXPECT_NE(text.find("> direct_allreduce"), std::string::npos) << text;
}

TEST(ExplainCommand, ListsTheOperations) {
  const std::string help = output_of("explain --help");
  for (const char* const operation : {"barrier,", "exscan,", "reduce_scatter,", "general_reduce"}) {
    EXPECT_NE(help.find(operation), std::string::npos) << help;
  }
  expect_refused("explain nothing --nodes 2", "Known are barrier, broadcast, ");
}

TEST(ExplainCommand, TheLinkAndTheCoresMatter) {
  const auto chosen = [](const std::string& more) {
    return nlohmann::json::parse(output_of("explain allreduce --nodes 16 --bytes 8 --json " + more))
        .at("candidates")
        .at(0)
        .at("algorithm")
        .get<std::string>();
  };
  EXPECT_EQ(chosen("--link host --cores 2"), "linear_allreduce");
  EXPECT_EQ(chosen("--link host --cores 16"), "four_way_doubling");
  EXPECT_EQ(chosen("--link wire"), "four_way_doubling");
}

TEST(ExplainCommand, ShowsWhatGoesByHosts) {
  const auto found = nlohmann::json::parse(output_of("explain allreduce --nodes 16 --hosts 4 --bytes 1M --json"));
  EXPECT_EQ(found.at("hosts"), 4);
  EXPECT_EQ(found.at("link"), "wire");
  EXPECT_EQ(found.at("ranks_of_machine"), 4);
  std::vector<std::string> names;
  for (const auto& candidate : found.at("candidates")) names.push_back(candidate.at("algorithm"));
  for (const char* const name : {"leaders_allreduce", "sliced_ring_allreduce", "ring_allreduce"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  EXPECT_NE(output_of("explain allreduce --nodes 16 --hosts 4").find("link wire between hosts, host inside them"),
            std::string::npos);
  const std::string alone = output_of("explain allreduce --nodes 16 --link wire");
  EXPECT_EQ(alone.find("leaders_allreduce"), std::string::npos) << alone;
  expect_refused("explain allreduce --nodes 4 --hosts 5", "--hosts is '5'");
  expect_refused("explain allreduce --nodes 4 --hosts 2 --link local", "--link local connects no hosts");
}

// Hosts that leave all links alike are none to go by.
TEST(ExplainCommand, KnowsTheHostsThatAJobWouldKnow) {
  const std::string operation = "explain allgather --nodes 8 --bytes 8 --cores 2";
  EXPECT_EQ(output_of(operation + " --hosts 1"), output_of(operation + " --link host"));
  EXPECT_EQ(output_of(operation + " --hosts 1 --link local"), output_of(operation));
  EXPECT_EQ(output_of(operation + " --hosts 8"), output_of(operation + " --link wire"));
  const auto found = nlohmann::json::parse(output_of(operation + " --hosts 1 --json"));
  EXPECT_EQ(found.at("candidates").at(0).at("algorithm"), "linear_allgather");
  EXPECT_EQ(found.at("hosts"), 0);
}

TEST(ExplainCommand, SaysWhichSizeOthersAreTakenAs) {
  const auto found = nlohmann::json::parse(output_of("explain allreduce --nodes 4 --bytes 1000 --json"));
  EXPECT_EQ(found.at("bytes"), 1000);
  EXPECT_EQ(found.at("size_class"), 1024);
  const std::string text = output_of("explain allgather --nodes 4 --bytes 1000");
  EXPECT_NE(text.find(", 1000 B a block, taken as 1 KiB; "), std::string::npos) << text;
  EXPECT_EQ(output_of("explain allgather --nodes 4 --bytes 1KiB").find("taken as"), std::string::npos);
}

TEST(ExplainCommand, ShowsWhichAreReproducible) {
  const auto found = nlohmann::json::parse(
      output_of("explain allreduce --nodes 5 --bytes 1KiB --reproducible --measure --seconds 0.0005 --json"));
  EXPECT_EQ(found.at("reproducible"), true);
  std::vector<std::string> names;
  for (const auto& candidate : found.at("candidates")) names.push_back(candidate.at("algorithm"));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"direct_allreduce", "linear_allreduce", "padded_doubling"}));
  EXPECT_NE(output_of("explain allreduce --nodes 8 --reproducible").find("in the canonical tree"), std::string::npos);
}

TEST(ExplainCommand, GoesByTheSettingForReproducibleJobs) {
  const std::string allreduce = "explain allreduce --nodes 5 --bytes 1KiB";
  const std::string asked_for = output_of(allreduce + " --reproducible");
  const std::string broadcast = output_of("explain broadcast --nodes 5");
  const Setting setting("STRETTO_REPRODUCIBLE", "1");
  EXPECT_EQ(output_of(allreduce), asked_for);
  EXPECT_EQ(output_of("explain broadcast --nodes 5"), broadcast) << "which has no operator";
  const auto found = nlohmann::json::parse(output_of(allreduce + " --measure --seconds 0.0005 --json"));
  EXPECT_EQ(found.at("reproducible"), true);
}

TEST(ExplainCommand, ShowsWhatItWasAsked) {
  const auto helped = nlohmann::json::parse(output_of("explain allreduce --nodes 5 --auxiliaries 3 --ordered --json"));
  EXPECT_EQ(helped.at("nodes"), 5);
  EXPECT_EQ(helped.at("auxiliaries"), 3);
  EXPECT_EQ(helped.at("commutative"), false);
  EXPECT_EQ(helped.at("root"), 0);
  const auto rooted = nlohmann::json::parse(output_of("explain reduce --nodes 5 --root 3 --json"));
  EXPECT_EQ(rooted.at("auxiliaries"), 0);
  EXPECT_EQ(rooted.at("commutative"), true);
  EXPECT_EQ(rooted.at("root"), 3);
}

TEST(ExplainCommand, AuxiliariesTakeCores) {
  const std::string crowded = output_of("explain allreduce --nodes 4 --auxiliaries 4 --cores 4");
  EXPECT_NE(crowded.find("8 ranks take turns on 4 cores"), std::string::npos) << crowded;
  const std::string roomy = output_of("explain allreduce --nodes 4 --auxiliaries 4 --cores 8");
  EXPECT_EQ(roomy.find("take turns"), std::string::npos) << roomy;
}

TEST(ExplainCommand, ShowsWhereAuxiliariesHelp) {
  const auto found =
      nlohmann::json::parse(output_of("explain allreduce --nodes 13 --auxiliaries 3 --link wire --json"));
  EXPECT_EQ(found.at("candidates").at(0).at("algorithm"), "padded_doubling");
  EXPECT_EQ(found.at("candidates").at(0).at("auxiliaries"), 3);
  EXPECT_FALSE(found.at("candidates").at(1).contains("auxiliaries"));
  EXPECT_NE(output_of("explain allreduce --nodes 13 --auxiliaries 3 --link wire").find("padded_doubling, 3 auxiliary"),
            std::string::npos);
  expect_refused("explain scan --nodes 13 --auxiliaries 3", "only an allreduce has auxiliaries");
  expect_refused("explain allreduce --nodes 13 --auxiliaries 3 --measure", "--auxiliaries is for predictions");
}

TEST(ExplainCommand, MeasuresEachCandidateAndReportsTheError) {
  const auto found =
      nlohmann::json::parse(output_of("explain allgather --nodes 3 --bytes 8KiB --measure --seconds 0.001 --json"));
  EXPECT_EQ(found.at("nodes"), 3);
  for (const auto& candidate : found.at("candidates")) EXPECT_GT(candidate.at("measured_seconds"), 0);
  EXPECT_GE(found.at("error_median"), 1);
  EXPECT_GE(found.at("error_worst"), found.at("error_median"));
  EXPECT_NE(output_of("explain barrier --nodes 4 --measure --seconds 0.001").find("prediction's error: median"),
            std::string::npos);
}

TEST(ExplainCommand, MeasuresWhatTakesNoTime) {
  const Setting setting("STRETTO_FABRIC", "sim:1");
  const auto found = nlohmann::json::parse(output_of("explain allreduce --measure --seconds 0.001 --json"));
  EXPECT_EQ(found.at("error_median"), 1);
  EXPECT_EQ(found.at("error_worst"), 1);
}

// Which is all that tells it from itself.
TEST(ExplainCommand, SaysHowManySegmentsAreFastest) {
  const Setting setting("STRETTO_FABRIC", "sim:4");
  const std::string command = "explain broadcast --bytes 4MiB --measure --seconds 0.001";
  const auto first = nlohmann::json::parse(output_of(command + " --json")).at("candidates").at(0);
  ASSERT_GT(first.at("segments"), 1);
  const std::string chosen =
      first.at("algorithm").get<std::string>() + " of " + first.at("segments").dump() + " segments";
  const std::string text = output_of(command);
  EXPECT_NE(text.find("chosen: " + chosen + "; measured fastest: "), std::string::npos) << text;
}

// Also with trees that are cut, and where some contribute or receive nothing.
TEST(ExplainCommand, MeasuresEveryOperation) {
  for (const char* const operation : {"broadcast", "reduce", "gather", "scatter", "reduce_scatter", "all_to_all",
                                      "scan", "exscan", "general_reduce"}) {
    const auto found = nlohmann::json::parse(
        output_of(std::string("explain ") + operation + " --nodes 3 --bytes 20KiB --measure --seconds 0.001 --json"));
    EXPECT_FALSE(found.at("candidates").empty()) << operation;
  }
}

TEST(ExplainCommand, KnowsWhoContributesAndWhoReceives) {
  const std::string command = "explain general_reduce --nodes 5 --contributors 3 --inner-receivers 1";
  const auto found = nlohmann::json::parse(output_of(command + " --json"));
  EXPECT_EQ(found.at("contributors"), 3);
  EXPECT_EQ(found.at("inner_receivers"), 1);
  EXPECT_NE(output_of(command).find("the first 3 to the first 1 and the last 2"), std::string::npos);
  const auto measured = nlohmann::json::parse(output_of(command + " --measure --seconds 0.001 --json"));
  EXPECT_EQ(measured.at("candidates").size(), found.at("candidates").size());
  expect_refused("explain general_reduce --nodes 5 --contributors 6", "contributors must be from 1 to the size");
  expect_refused("explain allreduce --nodes 5 --contributors 3", "only a general_reduce says who contributes");
}

TEST(Trial, WorkersAreBoundUnlessTheSettingSaysOtherwise) {
  const auto bound = [] {
    RuntimeOptions options = RuntimeOptions::from_environment();
    bind_workers(options);
    return options.bind;
  };
  EXPECT_TRUE(bound());
  const Setting setting("STRETTO_BIND", "0");
  EXPECT_FALSE(bound());
}

/// How a job on the fabric of the environment gathers so many doubles of each node.
std::string chosen_by_job(std::size_t count) {
  std::string chosen;
  Runtime runtime(RuntimeOptions::from_environment());
  runtime.run([&](Node& node) {
    if (node.id() != 0) return;
    const std::vector<double> input(count);
    std::vector<double> output(count * node.size());
    PlanCache plans(CollectiveService::of(node));
    const auto call = detail::make_call<schedule::Operation::allgather>(input, output);
    chosen = plans.of(Group::all(node)).prepare(call, {}).plan.algorithm().name();
  });
  return chosen;
}

TEST(ExplainCommand, TheFirstCandidateIsWhatAJobChoosesWhetherItsNodesMeetOrNot) {
  for (const char* const fabric : {"local:4", "local:4,peer_pointer=segments", "sim:4"}) {
    const Setting setting("STRETTO_FABRIC", fabric);
    for (const std::size_t count : {1U, 128U, 1024U}) {
      const auto found = nlohmann::json::parse(output_of(
          "explain allgather --measure --seconds 0.0001 --json --bytes " + std::to_string(count * sizeof(double))));
      EXPECT_EQ(found.at("candidates").at(0).at("algorithm"), chosen_by_job(count)) << fabric << ", " << count;
    }
  }
}

TEST(ExplainCommand, RefusesBadArguments) {
  expect_refused("explain alreduce --nodes 4", "did you mean 'allreduce'?");
  expect_refused("explain allreduce --nodes 0", "--nodes is '0'");
  expect_refused("explain allreduce", "--nodes is required");
  expect_refused("explain allreduce --measure", "--nodes is required");
  expect_refused("explain allreduce --nodes 4 --bytes much", "--bytes is 'much'");
  expect_refused("explain barrier --nodes 4 --bytes 8", "--bytes is '8', but a barrier has none");
  expect_refused("explain broadcast --nodes 4 --reproducible", "--reproducible is for reductions, but broadcast");
  expect_refused("explain allreduce --nodes 4 --seconds 1", "--seconds is for what is measured; add --measure");
  expect_refused("explain allreduce --nodes 4 --link air", "--link is 'air'");
  expect_refused("explain broadcast --nodes 4 --root 4", "root");
  expect_refused("explain allreduce --nodes 4 --measure --link wire", "--link and --cores");
  expect_refused("explain broadcast --nodes 4 --root 4 --measure", "root 4 is not a rank");
  {
    const Setting setting("STRETTO_FABRIC", "local:3");
    expect_refused("explain allreduce --nodes 4 --measure", "--nodes is 4, but the job has 3 nodes");
    expect_refused("explain alreduce --measure", "did you mean 'allreduce'?");
  }
  const Setting setting("STRETTO_FABRIC", "local:1");
  expect_refused("explain allreduce --nodes 4 --measure", "--nodes is 4, but the job has 1 node;");
}

TEST(TuneCommand, WritesATableAndKeepsOtherLinks) {
  const std::string path = test::path_of_own("tuning_test.json");
  std::remove(path.c_str());
  schedule::CostTable before = schedule::built_in_costs();
  before.of(schedule::Link::wire).latency = 0.123;
  std::ofstream(path) << to_json(before);
  const std::string text = output_of("tune --seconds 0.0002 --output " + path);
  EXPECT_NE(text.find("link local"), std::string::npos) << text;
  EXPECT_NE(text.find("predictions are off by"), std::string::npos) << text;
  EXPECT_EQ(schedule::parse_cost_table(content_of(path), path).of(schedule::Link::wire).latency, 0.123);
  std::ofstream(path) << "no table";
  expect_error("tune --seconds 0.0002 --output " + path, "cannot be used");
  expect_error("tune --seconds 0.0002 --output " + path, "remove it, or say by --output where to write");
  std::remove(path.c_str());
  expect_error("tune --seconds 0.0002 --output /proc/nowhere/tuning.json", "cannot write");
}

TEST(TuneCommand, WritesToAFileThatIsEmpty) {
  const std::string path = test::path_of_own("tuning_empty.json");
  std::ofstream(path, std::ios::trunc).close();
  output_of("tune --seconds 0.0002 --output " + path);
  EXPECT_EQ(schedule::parse_cost_table(content_of(path), path).origin(schedule::Link::local), path);
  std::remove(path.c_str());
}

TEST(TuneCommand, MakesTheFileThatJobsWaitFor) {
  const std::string path = test::path_of_own("tuning_made.json");
  const std::string named = test::path_of_own("tuning_named.json");
  const Setting setting("STRETTO_TUNING", named);
  for (const char* const text : {"", "{]"}) {
    if (*text != '\0') std::ofstream(named) << text;
    output_of("tune --seconds 0.0002 --output " + path);
    EXPECT_EQ(schedule::parse_cost_table(content_of(path), path).origin(schedule::Link::local), path);
    std::remove(path.c_str());
  }
  std::remove(named.c_str());
  output_of("tune --seconds 0.0002 --output " + named);
  EXPECT_NE(output_of("explain barrier --nodes 2").find("costs: " + named), std::string::npos);
  EXPECT_NE(output_of("explain barrier --nodes 2 --link wire").find("costs: built in"), std::string::npos)
      << "which are of no measurement";
  std::remove(named.c_str());
}

TEST(TuneCommand, WritesToAPipe) {
  const std::string path = test::path_of_own("tuning_pipe");
  std::remove(path.c_str());
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  output_of("tune --seconds 0.0002 --output " + path);
  std::string text(std::size_t{1} << 16U, ' ');  // as much as a pipe holds
  const ssize_t length = read(reader, text.data(), text.size());
  close(reader);
  std::remove(path.c_str());
  ASSERT_GT(length, 0);
  text.resize(static_cast<std::size_t>(length));
  EXPECT_EQ(schedule::parse_cost_table(text, path).origin(schedule::Link::local), path);
}

// The job dies of its first message.
TEST(TuneCommand, RefusesBeforeTheWorkWhatCannotBeWritten) {
  const Setting setting("STRETTO_FABRIC", "sim:2,kill=1#0");
  expect_error("tune --seconds 0.0002 --output /proc/nowhere/tuning.json", "cannot write /proc/nowhere/tuning.json");
  expect_error("tune --seconds 0.0002 --output " + testing::TempDir(), "cannot write");
}

// Of hosts that have several nodes, too: what these exchange is no wire's.
TEST(TuneCommand, MeasuresTheWireBetweenHosts) {
  const std::string path = test::path_of_own("tuning_hosts.json");
  for (const std::string machine : {"sim:4,hosts=2", "sim:7,hosts=3"}) {
    std::remove(path.c_str());
    const Setting setting("STRETTO_FABRIC", machine + ",latency=100us,overhead=2us,bandwidth=1GB/s");
    output_of("tune --seconds 0.0002 --output " + path);
    const schedule::Costs wire = schedule::parse_cost_table(content_of(path), path).of(schedule::Link::wire);
    EXPECT_GT(wire.latency + wire.overhead, 20e-6) << machine;
    EXPECT_LT(wire.latency + wire.overhead, 200e-6) << machine;
  }
  const Setting setting("STRETTO_FABRIC", "sim:4,hosts=1");
  expect_error("tune --seconds 0.0002 --output " + path, "on one simulated host");
  std::remove(path.c_str());
}

TEST(TuneCommand, KeepsSimulatedMachinesOutOfWhatJobsUse) {
  const std::string folder = test::path_of_own("tuning_config");
  const Setting config("XDG_CONFIG_HOME", folder);
  const Setting setting("STRETTO_FABRIC", "sim:2");
  expect_error("tune --seconds 0.0002", "say by --output where they go");
  EXPECT_FALSE(std::filesystem::exists(folder)) << "something was written";
}

TEST(TuneCommand, MeasuresNoOtherFabricThanIsAskedFor) {
  const std::string path = test::path_of_own("tuning_one_node.json");
  const Setting setting("STRETTO_FABRIC", "local:1");
  expect_error("tune --seconds 0.0002 --output " + path, "a job of one node");
  EXPECT_FALSE(std::filesystem::exists(path)) << "something was written";
}

TEST(TuneCommand, DoesNotMeasureAReproducibleJob) {
  const std::string path = test::path_of_own("tuning_reproducible.json");
  const Setting setting("STRETTO_REPRODUCIBLE", "1");
  expect_error("tune --seconds 0.0002 --output " + path, "STRETTO_REPRODUCIBLE is 1");
  EXPECT_FALSE(std::ifstream(path).good()) << "something was written";
}

}  // namespace
}  // namespace stretto::cli
