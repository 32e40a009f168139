#include "stretto/fabric/spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/base/random.h"

namespace stretto::fabric {
namespace {

std::string refusal(const std::string& text) {
  try {
    parse_spec(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input) << text;
    return error.what();
  }
  return "accepted";
}

TEST(Spec, LocalIsReadWithItsDefaults) {
  EXPECT_EQ(parse_spec("local").kind, Spec::Kind::local);
  EXPECT_EQ(parse_spec("local").local.nodes, 1U);
  EXPECT_EQ(parse_spec("local:512").local.nodes, 512U);
  EXPECT_EQ(parse_spec("local:2").local.reach, Reach::everything);
  EXPECT_EQ(parse_spec("local:2,peer_pointer=on").local.reach, Reach::everything);
  EXPECT_EQ(parse_spec("local:2,peer_pointer=off").local.reach, Reach::messages);
  EXPECT_EQ(parse_spec("local:2,peer_pointer=segments").local.reach, Reach::segments);
  EXPECT_EQ(parse_spec("local:2,peer_pointer=reads").local.reach, Reach::reads);
  EXPECT_EQ(parse_spec("sim:2,peer_pointer=reads").sim.reach, Reach::reads);
  EXPECT_EQ(parse_spec("cluster").kind, Spec::Kind::cluster);
}

TEST(Spec, EveryOptionOfSimIsRead) {
  const SimOptions sim =
      parse_spec(
          "sim:16,latency=1.5us,bandwidth=5GB/s,seed=7,overhead=300ns,gap=50ns,jitter=2us,reorder=0.25,"
          "delay=1ms,delay_probability=0.5,early=0.125,peer_pointer=segments,task=4us,detection=30us,kill=3@1.5ms,kill="
          "4#17,record=a=b.txt")
          .sim;
  EXPECT_EQ(sim.nodes, 16U);
  EXPECT_EQ(sim.seed, 7U);
  EXPECT_DOUBLE_EQ(sim.latency, 1.5e-6);
  EXPECT_DOUBLE_EQ(sim.seconds_per_byte, 1 / 5e9);
  EXPECT_DOUBLE_EQ(sim.overhead, 300e-9);
  EXPECT_DOUBLE_EQ(sim.gap, 50e-9);
  EXPECT_DOUBLE_EQ(sim.jitter, 2e-6);
  EXPECT_DOUBLE_EQ(sim.reorder, 0.25);
  EXPECT_DOUBLE_EQ(sim.delay, 1e-3);
  EXPECT_DOUBLE_EQ(sim.delay_probability, 0.5);
  EXPECT_DOUBLE_EQ(sim.early, 0.125);
  EXPECT_EQ(sim.reach, Reach::segments);
  EXPECT_DOUBLE_EQ(sim.task, 4e-6);
  EXPECT_DOUBLE_EQ(sim.detection, 30e-6);
  ASSERT_EQ(sim.kills.size(), 2U);
  EXPECT_EQ(sim.kills[0].node, 3U);
  EXPECT_DOUBLE_EQ(sim.kills[0].seconds, 1.5e-3);
  EXPECT_EQ(sim.kills[1].node, 4U);
  EXPECT_EQ(sim.kills[1].message, 17U);
  EXPECT_LT(sim.kills[1].seconds, 0);
  EXPECT_EQ(sim.record, "a=b.txt");
  EXPECT_EQ(sim.replay, "");
  const SimOptions nested = parse_spec("sim:7,hosts=3,inside_latency=30ns,inside_bandwidth=20GB/s").sim;
  EXPECT_EQ(nested.hosts, 3U);
  EXPECT_EQ(nested.inside_latency, 30e-9);
  EXPECT_EQ(nested.inside_seconds_per_byte, 1 / 20e9);
  EXPECT_EQ(parse_spec("sim:2,replay=folder/run 1").sim.replay, "folder/run 1");
}

TEST(Spec, TellsItsOptions) {
  const auto has = [](Spec::Kind kind, std::string_view name) {
    const std::vector<OptionInfo> options = options_of(kind);
    return std::any_of(options.begin(), options.end(),
                       [name](const OptionInfo& option) { return option.name == name && !option.meaning.empty(); });
  };
  for (const char* const name :
       {"seed", "latency", "overhead", "gap", "bandwidth", "jitter", "reorder", "delay", "delay_probability", "early",
        "peer_pointer", "task", "record", "replay", "detection", "kill"}) {
    EXPECT_TRUE(has(Spec::Kind::sim, name)) << name;
  }
  EXPECT_TRUE(has(Spec::Kind::local, "peer_pointer"));
  EXPECT_FALSE(has(Spec::Kind::local, "latency"));
  EXPECT_TRUE(options_of(Spec::Kind::cluster).empty());
}

TEST(Spec, WhatIsNotUnderstoodIsRefusedWithTheRemedy) {
  EXPECT_NE(refusal("locale:2").find("write local:NODES, sim:NODES,OPTION=VALUE,... or cluster"), std::string::npos);
  EXPECT_NE(refusal("sim:4,latncy=1us").find("did you mean latency=...?"), std::string::npos);
  EXPECT_NE(refusal("sim:4,colour=red").find("`stretto info --fabrics` lists"), std::string::npos);
  EXPECT_NE(refusal("local:2,peer_ponter=off").find("did you mean peer_pointer=...?"), std::string::npos);
  EXPECT_NE(refusal("local:2,peer_pointer=maybe").find("write on, off, segments or reads"), std::string::npos);
  EXPECT_NE(refusal("sim:4,kill=2").find("NODE@TIME or NODE#MESSAGE"), std::string::npos);
  EXPECT_NE(refusal("sim:4,kill=4@1ms").find("kill names node 4 of a job of 4 nodes"), std::string::npos);
  EXPECT_NE(refusal("sim:4,seed=1,gap=0us,seed=1").find("has two values of seed"), std::string::npos);
  EXPECT_EQ(refusal("sim:4,kill=1@1ms,kill=2@1ms"), "accepted");
  EXPECT_NE(refusal("sim:4,hosts=5").find("hosts=5, but the job has only 4 nodes"), std::string::npos);
  EXPECT_NE(refusal("sim:4,record=").find("write record=FILE"), std::string::npos);
  EXPECT_NE(refusal("sim:4,replay=").find("write replay=FILE"), std::string::npos);
  EXPECT_NE(refusal("sim:4,recrod=a").find("did you mean record=...?"), std::string::npos);
  EXPECT_NE(refusal("sim:4,replay=b,record=a").find("record=a and replay=b exclude each other"), std::string::npos);
  for (const char* const text : {"",
                                 ":",
                                 "local:",
                                 "local:0",
                                 "local:-1",
                                 "local:2x",
                                 "local:99999999999999999999",
                                 "sim:",
                                 "sim:0",
                                 "sim:4,,",
                                 "sim:4,seed",
                                 "sim:4,seed=",
                                 "sim:4,seed=x",
                                 "sim:4,latency=1",
                                 "sim:4,latency=-1us",
                                 "sim:4,reorder=2",
                                 "sim:4,reorder=nan",
                                 "sim:4,bandwidth=0GB/s",
                                 "sim:4,latency=1e400us",
                                 "sim:4,kill=@1ms",
                                 "sim:4,kill=1#",
                                 "sim:4,kill=1@",
                                 "cluster:4",
                                 "cluster,x=1",
                                 "sim:4,peer_pointer=on",
                                 "sim:4,peer_pointer",
                                 "sim:4,replay",
                                 "local:4,record=a",
                                 "local:4,seed=1",
                                 "sim:70000"}) {
    EXPECT_NE(refusal(text), "accepted") << text;
  }
}

// Picoseconds in 63 bits would be over before.
TEST(Spec, MachinesTooSlowForVirtualTimeAreRefused) {
  for (const char* const name :
       {"latency", "overhead", "gap", "inside_latency", "inside_overhead", "jitter", "delay", "task", "detection"}) {
    const std::string text = refusal("sim:2," + std::string(name) + "=3000h");
    EXPECT_NE(text.find(std::string(name) + " is 3000 h; "), std::string::npos) << text;
    EXPECT_EQ(refusal("sim:2," + std::string(name) + "=1000s"), "accepted");
  }
  for (const char* const name : {"bandwidth", "inside_bandwidth"}) {
    const std::string text = refusal("sim:2," + std::string(name) + "=0.5B/s");
    EXPECT_NE(text.find(std::string(name) + " is 0.5 B/s; "), std::string::npos) << text;
    EXPECT_EQ(refusal("sim:2," + std::string(name) + "=10KB/s"), "accepted");
  }
  EXPECT_NE(refusal("sim:2,kill=1@3000h").find("kill names a time of 3000 h; "), std::string::npos);
  EXPECT_EQ(refusal("sim:2,kill=1@2000h"), "accepted");
}

// Mutations of a good text: accepted or refused as bad input, never anything else.
TEST(Spec, MutationsAreReadOrRefused) {
  const std::string good = "sim:16,latency=1.5us,bandwidth=5GB/s,seed=7,reorder=0.25,kill=3@1.5ms,kill=4#17";
  Random random(8);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = good;
    for (std::uint64_t n = 1 + random.below(3); n > 0 && !text.empty(); --n) {
      const std::size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0: text.erase(at, 1 + random.below(4)); break;
        case 1: text[at] = static_cast<char>(random.below(256)); break;
        case 2: text.insert(at, 1, static_cast<char>(32 + random.below(95))); break;
        default: text.insert(at, text.substr(random.below(text.size()), random.below(8)));
      }
    }
    try {
      const Spec spec = parse_spec(text);
      EXPECT_GE(spec.sim.nodes, 1U);
      for (const KillFault& fault : spec.sim.kills) EXPECT_LT(fault.node, spec.sim.nodes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input) << text;
      EXPECT_FALSE(error.message().empty());
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_LT(refused, 20'000);
}

}  // namespace
}  // namespace stretto::fabric
