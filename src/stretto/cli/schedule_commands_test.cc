#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "stretto/base/test_support.h"
#include "stretto/cli/test_support.h"
#include "stretto/schedule/algorithm.h"

namespace stretto::cli {
namespace {

using test::expect_error;
using test::expect_refused;
using test::output_of;

nlohmann::json json_of_output(const std::string& arguments) {
  const std::string output = output_of(arguments);
  EXPECT_EQ(output.find('\n'), output.size() - 1) << "one object on one line";
  return nlohmann::json::parse(output);
}

TEST(VerifyCommand, ProvesOneOrAllAlgorithms) {
  const nlohmann::json all = json_of_output("verify --nodes 1-5,9 --json");
  EXPECT_EQ(all.at("right"), true);
  EXPECT_EQ(all.at("algorithms").size(), schedule::algorithms().size());
  const nlohmann::json one = json_of_output("verify binomial_reduce --nodes 1-3 --roots all --json");
  EXPECT_EQ(one.at("algorithms").at(0).at("shapes"), 3 * (1 + 2 + 3))
      << "roots, times operators that commute or not, and the canonical tree";
  EXPECT_NE(output_of("verify ring_allgather --nodes 7").find("1 shape   right"), std::string::npos);
}

TEST(VerifyCommand, LeavesOutSizesThatDoNotFitTheBlocks) {
  const nlohmann::json some = json_of_output("verify direct_allreduce --nodes 1-9 --blocks 4 --json");
  EXPECT_EQ(some.at("algorithms").at(0).at("shapes"), 3) << "4 nodes; commuting, in order, canonical";
  expect_refused("verify direct_allreduce --nodes 5-9 --blocks 4", "direct_allreduce: blocks must be 5, not 4");
}

TEST(VerifyCommand, SaysNothingOfWhatItDidNotTry) {
  const nlohmann::json found = json_of_output("verify --nodes 4 --blocks 7 --json");
  EXPECT_EQ(found.at("right"), true);
  for (const nlohmann::json& each : found.at("algorithms")) {
    EXPECT_EQ(each.at("right"), each.at("shapes") == 0 ? nlohmann::json() : nlohmann::json(true)) << each;
  }
  const std::string text = output_of("verify --nodes 4 --blocks 7");
  EXPECT_NE(text.find("0 shapes  not tried\n"), std::string::npos) << text;
  EXPECT_EQ(text.find(" 0 shapes  right"), std::string::npos) << text;
}

TEST(VerifyCommand, TriesContributorsAndReceivers) {
  const nlohmann::json all = json_of_output("verify scattered_general_reduce --nodes 3 --roots all --json");
  EXPECT_EQ(all.at("algorithms").at(0).at("shapes"), 3 * (2 + 3 + 3)) << "1, 2 or 3 contribute";
  const nlohmann::json some = json_of_output("verify aspen_general_reduce --nodes 8 --json");
  EXPECT_EQ(some.at("algorithms").at(0).at("shapes"), 2 + 3 + 3 + 2) << "8, 4, 3 or 1 contribute";
}

TEST(VerifyCommand, TriesAuxiliariesAndSegments) {
  const nlohmann::json helped = json_of_output("verify padded_doubling --nodes 5,8 --json");
  EXPECT_EQ(helped.at("algorithms").at(0).at("shapes"), 3 * (3 + 2)) << "none, 1 or 3 help 5 nodes, none or 1 help 8";
  const nlohmann::json cut = json_of_output("verify chain_broadcast --nodes 1-9,65 --json");
  EXPECT_EQ(cut.at("algorithms").at(0).at("shapes"), 9 * 2 + 1);
}

TEST(VerifyCommand, TriesPlacements) {
  const nlohmann::json all = json_of_output("verify leaders_allreduce --nodes 8 --json");
  EXPECT_EQ(all.at("algorithms").at(0).at("shapes"), 5 + 4 + 3) << "commuting; in order; canonical";
}

TEST(VerifyCommand, RefusesBadArguments) {
  expect_refused("verify nonsense", "no algorithm called 'nonsense'");
  for (const char* const sizes : {"0", "5-", "-5", "9-3", "1,,2", "x", "1-1025"}) {
    expect_refused(std::string("verify --nodes=") + sizes, "--nodes is '");
  }
  expect_refused("verify --roots some", "--roots is 'some'");
  expect_refused("verify ring_allreduce --nodes 16 --blocks 4097",
                 "--blocks is '4097', but must be a whole number from 1 to 4096");
}

TEST(SimulateCommand, AnswersInTextAndJson) {
  const nlohmann::json object = json_of_output("simulate recursive_doubling --nodes 131072 --bytes 8 --json");
  EXPECT_EQ(object.at("rounds"), 17);
  EXPECT_EQ(object.at("messages"), 17 * 131072);
  EXPECT_EQ(object.at("bytes"), 8);
  EXPECT_EQ(object.at("network").at("name"), "titan");
  EXPECT_NEAR(object.at("seconds_max").get<double>(), 42.5e-6, 0.1e-6);
  const nlohmann::json custom = json_of_output(
      "simulate binomial_reduce --nodes 2 --root 1 --ordered --bytes 1KiB --network 1us,0,0,1GB/s,0 --json");
  EXPECT_EQ(custom.at("bytes"), 1024);
  EXPECT_EQ(custom.at("commutative"), false);
  // One message to rank 0, which keeps the order, and one back.
  EXPECT_NEAR(custom.at("seconds_max").get<double>(), 2 * (1e-6 + 1023e-9), 1e-12);
  EXPECT_NE(output_of("simulate recursive_doubling -n 8").find("last done  7.507 us"), std::string::npos);
}

TEST(SimulateCommand, TakesBytesOfTheVectorOrOfEachBlock) {
  const nlohmann::json vector = json_of_output("simulate direct_allreduce --nodes 4 --bytes 1KiB --json");
  EXPECT_EQ(vector.at("blocks"), 4);
  EXPECT_EQ(vector.at("bytes_sent"), 2 * 4 * 3 * 256) << "two rounds of a quarter to each other node";
  const nlohmann::json block = json_of_output("simulate linear_all_to_all --nodes 4 --bytes 1KiB --json");
  EXPECT_EQ(block.at("bytes_sent"), 4 * 3 * 1024);
  EXPECT_NE(output_of("simulate linear_gather -n 4 -b 8").find("gather of 4 ranks to rank 0, 8 B a block"),
            std::string::npos);
}

TEST(SimulateCommand, SaysWhereThereAreMoreBytesThanCanBeCounted) {
  EXPECT_NE(output_of("simulate linear_allgather -n 128 -b 4096TiB").find("16256, at least 1.678e+07 TiB in all"),
            std::string::npos);
  EXPECT_NE(output_of("simulate linear_allgather -n 32 -b 4096TiB").find("992, 4.063e+06 TiB in all"),
            std::string::npos);
  const auto is_least = [](const std::string& ranks) -> bool {
    return json_of_output("simulate linear_allgather -b 4096TiB --json -n " + ranks).at("bytes_sent_is_least");
  };
  EXPECT_TRUE(is_least("128"));
  EXPECT_FALSE(is_least("32"));
}

TEST(SimulateCommand, TakesContributorsAndReceivers) {
  const nlohmann::json object =
      json_of_output("simulate aspen_general_reduce --nodes 11 --contributors 8 --inner-receivers 2 --json");
  EXPECT_EQ(object.at("contributors"), 8);
  EXPECT_EQ(object.at("inner_receivers"), 2);
  EXPECT_EQ(object.at("messages"), 4 + 4 + 3 + 3);
  expect_refused("simulate aspen_general_reduce --nodes 4 --contributors 5",
                 "contributors must be from 1 to the size, 4");
  expect_refused("simulate recursive_doubling --nodes 4 --contributors 2",
                 "only a general_reduce says who contributes");
}

TEST(SimulateCommand, TakesAuxiliariesBesideTheNodes) {
  const nlohmann::json object = json_of_output("simulate padded_doubling --nodes 5 --auxiliaries 3 --json");
  EXPECT_EQ(object.at("nodes"), 5);
  EXPECT_EQ(object.at("auxiliaries"), 3);
}

TEST(SimulateCommand, TakesHostsAndANetworkInside) {
  const auto seconds = [](const std::string& arguments) {
    return json_of_output("simulate " + arguments + " --nodes 16 --json").at("seconds_max").get<double>();
  };
  EXPECT_LT(seconds("leaders_allreduce --hosts 4"), seconds("recursive_doubling"));
  EXPECT_LT(seconds("leaders_allreduce --hosts 4"), seconds("leaders_allreduce --hosts 4 --inside titan"));
  expect_refused("simulate leaders_allreduce --nodes 16", "say how many by --hosts");
  expect_refused("simulate leaders_allreduce --nodes 16 --hosts 17", "--hosts is '17'");
  expect_refused("simulate leaders_allreduce --nodes 16 --hosts 4 --inside fast", "no network called 'fast'");
  expect_refused("simulate recursive_doubling --nodes 16 --inside titan", "say how many these are by --hosts");
}

/// There are some 64 MB more of memory than what is in use while this lives.
class LittleMemory {
 public:
  LittleMemory() {
    rlim_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &limit_);
    const rlimit less{pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{64} << 20U), limit_.rlim_max};
    setrlimit(RLIMIT_AS, &less);
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &limit_); }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

 private:
  rlimit limit_{};
};

TEST(SimulateCommand, RefusesWhatCannotBeHeld) {
  if (stretto::test::sanitized) GTEST_SKIP() << "which needs memory of its own";
  const LittleMemory memory;
  expect_refused("simulate recursive_doubling --nodes 16777215", "too many to be held in this memory");
}

// Before it is asked on which host the root is.
TEST(SimulateCommand, RefusesRootsThatAreOnNoHost) {
  expect_refused("simulate leader_chain_broadcast --nodes 8 --hosts 2 --root 16000000", "root 16000000 is not a rank");
  expect_refused("simulate leaders_reduce --nodes 8 --hosts 2 --root 16000000", "root 16000000 is not a rank");
  expect_refused("draw leaders_broadcast --nodes 8 --hosts 2 --root 127", "root 127 is not a rank");
}

TEST(SimulateCommand, RefusesBadArguments) {
  expect_refused("simulate nonsense --nodes 4", "no algorithm called 'nonsense'");
  expect_refused("simulate recursive_doubling --nodes 0", "--nodes is '0'");
  expect_refused("simulate recursive_doubling --nodes 1e6", "--nodes is '1e6'");
  expect_refused("simulate recursive_doubling --nodes 16777217", "--nodes is '16777217'");
  expect_refused("simulate recursive_doubling --nodes 4 --bytes many", "--bytes is 'many'");
  expect_refused("simulate recursive_doubling --nodes 4 --root 1", "allreduce, has root 0, not 1");
  expect_refused("simulate binomial_reduce --nodes 4 --root 4", "root 4 is not a rank");
  expect_refused("simulate ring_allgather --nodes 4 --ordered", "nothing to keep in order");
  expect_refused("simulate recursive_doubling --nodes 4 --blocks 2", "recursive_doubling: blocks must be 1, not 2");
  expect_refused("simulate recursive_doubling --nodes 4 --blocks 0", "--blocks is '0'");
  expect_refused("simulate linear_gather --nodes 4 --blocks 2", "cuts no vector, gather, has blocks 1, not 2");
  expect_refused("simulate recursive_doubling --nodes 4 --network fast", "no network called 'fast'");
  for (const std::string incomplete : {"simulate recursive_doubling", "simulate"}) {
    const test::Outcome outcome = test::run_line(incomplete);
    EXPECT_EQ(outcome.status, 2);
    EXPECT_NE(outcome.err.find("required"), std::string::npos) << outcome.err;
  }
}

TEST(DrawCommand, WritesAFileOrStandardOutput) {
  EXPECT_EQ(output_of("draw recursive_doubling --nodes 6").rfind("<svg ", 0), 0U);
  EXPECT_EQ(output_of("draw recursive_doubling --nodes 6 --format dot").rfind("digraph ", 0), 0U);
  const nlohmann::json object = json_of_output("draw ring_allgather --nodes 3 --format dot --json");
  EXPECT_EQ(object.at("format"), "dot");
  EXPECT_EQ(object.at("document").get<std::string>().rfind("digraph ", 0), 0U);

  const std::string path = test::path_of_own("draw_command_test.gv");
  const nlohmann::json written = json_of_output("draw binomial_reduce --nodes 5 --root 2 --json -o " + path);
  std::ostringstream contents;
  contents << std::ifstream(path).rdbuf();
  std::remove(path.c_str());
  EXPECT_EQ(written.at("file"), path);
  EXPECT_EQ(written.at("file_bytes"), contents.str().size());
  EXPECT_EQ(contents.str().rfind("digraph ", 0), 0U) << "the file's name says which format";
}

TEST(DrawCommand, DrawsWhatIsComposed) {
  const std::string picture = output_of("draw sliced_direct_allreduce --nodes 5 --hosts 2 --format dot");
  EXPECT_EQ(picture.rfind("digraph ", 0), 0U);
  EXPECT_NE(picture.find("on 2 hosts"), std::string::npos) << picture;
}

TEST(DrawCommand, RefusesBadArguments) {
  expect_refused("draw chain_broadcast --nodes 128 --blocks 4096", "4222 rounds of 128 ranks cannot be read");
  expect_refused("draw nonsense --nodes 4", "no algorithm called 'nonsense'");
  expect_refused("draw recursive_doubling --nodes 129", "--nodes is '129'");
  expect_refused("draw recursive_doubling --nodes 4 --format png", "--format is 'png', but must be svg or dot");
  expect_refused("draw recursive_doubling --nodes 4 -o x.png", "the name 'x.png' says neither svg nor dot");
  expect_error("draw recursive_doubling --nodes 4 -o /nonexistent/x.svg", "/nonexistent/x.svg cannot be written");
}

TEST(ScheduleCommands, HelpTeachesByExamples) {
  for (const std::string command : {"verify", "simulate", "draw"}) {
    const std::string help = output_of(command + " --help");
    EXPECT_NE(help.find("Examples:\n  stretto " + command), std::string::npos) << help;
    EXPECT_NE(help.find("recursive_doubling_allgather"), std::string::npos) << help;
    EXPECT_NE(help.find("--json"), std::string::npos) << help;
  }
}

}  // namespace
}  // namespace stretto::cli
