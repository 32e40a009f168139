#include "stretto/fabric/bootstrap/deployment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <iomanip>
#include <sstream>
#include <string>
#include <vector>

#include "stretto/base/error.h"
#include "stretto/base/random.h"

namespace stretto::fabric {
namespace {

Deployment example() {
  return {JobSecret::random(),         "10.0.0.1:77", 1, 8, 4, 4, true, "/home", {{"STRETTO_LOG", "info"}, {"A", ""}},
          {"./app", "an argument", ""}};
}

ConstByteSpan payload(const std::vector<std::byte>& frame) { return ConstByteSpan(frame).subspan(4); }

TEST(Deployment, ReadsBackWhatWasWritten) {
  const Deployment deployment = example();
  const auto frame = encode(deployment);
  const Deployment copy = decode_deployment(payload(frame));
  EXPECT_EQ(encode(copy), frame);
  EXPECT_EQ(copy.command, deployment.command);
  EXPECT_EQ(copy.environment, deployment.environment);
  EXPECT_EQ(copy.first, 4U);
  EXPECT_TRUE(std::ranges::equal(copy.secret.bytes(), deployment.secret.bytes()));
}

TEST(Deployment, RefusesTruncationAndRanksOutOfRange) {
  const auto frame = encode(example());
  for (std::size_t length = 0; length < payload(frame).size(); ++length) {
    EXPECT_THROW(decode_deployment(payload(frame).first(length)), Error);
  }
  Deployment outside = example();
  outside.first = 5;
  EXPECT_THROW(decode_deployment(payload(encode(outside))), Error);
  Deployment idle = example();
  idle.command.clear();
  EXPECT_THROW(decode_deployment(payload(encode(idle))), Error);
}

TEST(Deployment, BearsMutation) {
  Random random(8);
  const auto original = encode(example());
  for (int round = 0; round < 20000; ++round) {
    auto frame = original;
    for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
      frame[4 + random.below(frame.size() - 4)] = static_cast<std::byte>(random.below(256));
    }
    try {
      decode_deployment(payload(frame));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_input);
    }
  }
}

TEST(Deployment, PlansARankWithoutShowingTheSecret) {
  const Deployment deployment = example();
  const ProcessPlan plan = plan_rank(deployment, 6, {{"PATH", "/bin"}, {"STRETTO_JOB_RANK", "0"}}, 9, 64);
  EXPECT_EQ(plan.command, deployment.command);
  EXPECT_EQ(plan.environment.at("STRETTO_JOB_RANK"), "6");
  EXPECT_EQ(plan.environment.at("STRETTO_JOB_SIZE"), "8");
  EXPECT_EQ(plan.environment.at("STRETTO_JOB_ENDPOINT"), "10.0.0.1:77");
  EXPECT_EQ(plan.environment.at("STRETTO_JOB_SECRET_FD"), "9");
  EXPECT_EQ(plan.environment.at("STRETTO_FABRIC"), "cluster");
  EXPECT_EQ(plan.environment.at("STRETTO_LOG"), "info");
  EXPECT_EQ(plan.environment.at("PATH"), "/bin");
  EXPECT_EQ(plan.inherited, 9);
  EXPECT_EQ(tag_of(deployment, 6), "[6] ");

  std::string raw;
  std::ostringstream hex;
  for (const std::byte byte : deployment.secret.bytes()) {
    raw.push_back(static_cast<char>(byte));
    hex << std::hex << std::setw(2) << std::setfill('0') << std::to_integer<int>(byte);
  }
  std::vector<std::string> shown = plan.command;
  for (const auto& [name, value] : plan.environment) shown.push_back(value);
  for (std::string text : shown) {
    EXPECT_EQ(text.find(raw), std::string::npos);
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    EXPECT_EQ(text.find(hex.str()), std::string::npos) << text;
  }
}

TEST(Deployment, RanksThatOutnumberTheCoresSwitchWithoutRestartableSequences) {
  Deployment deployment = example();
  deployment.ranks = 4;
  const auto tunables = [&](Environment environment, unsigned cores) {
    const Environment planned = plan_rank(deployment, deployment.first, environment, 9, cores).environment;
    const auto found = planned.find("GLIBC_TUNABLES");
    return found == planned.end() ? "none" : found->second;
  };
  EXPECT_EQ(tunables({}, 4), "none");
  EXPECT_EQ(tunables({}, 3), "glibc.pthread.rseq=0");
  EXPECT_EQ(tunables({{"GLIBC_TUNABLES", "glibc.malloc.check=1"}}, 3), "glibc.malloc.check=1:glibc.pthread.rseq=0");
  EXPECT_EQ(tunables({{"GLIBC_TUNABLES", "glibc.malloc.check=1"}}, 4), "glibc.malloc.check=1");
  EXPECT_EQ(tunables({{"GLIBC_TUNABLES", "glibc.pthread.rseq=1"}}, 3), "glibc.pthread.rseq=1") << "as the user wants";
}

TEST(Deployment, SecretFileHoldsTheSecretAndCannotBeChanged) {
  const JobSecret secret = JobSecret::random();
  const Descriptor file = secret_file(secret);
  std::array<std::byte, 64> bytes{};
  ASSERT_EQ(::pread(file.number(), bytes.data(), bytes.size(), 0), 32);
  EXPECT_TRUE(std::ranges::equal(std::span(bytes).first(32), secret.bytes()));
  EXPECT_LT(::pwrite(file.number(), bytes.data(), 1, 0), 0);
}

}  // namespace
}  // namespace stretto::fabric
