#include "stretto/fabric/cluster/host/process_memory.h"

#include <gtest/gtest.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "stretto/base/error.h"

namespace stretto::fabric::cluster {
namespace {

std::uint64_t address_of(const void* place) { return reinterpret_cast<std::uintptr_t>(place); }

std::string refusal(const ProcessMemory& memory, std::uint64_t address, std::size_t bytes, ErrorCode code) {
  std::vector<std::byte> destination(bytes);
  try {
    memory.read(address, destination);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.message();
  }
  return "";
}

// A child that has what this process had when it began, until it is told to end.
class Child {
 public:
  Child() : process_(fork()) {
    if (process_ == 0) {
      for (;;) pause();
    }
  }
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t process() const { return process_; }
  void end() {
    if (has_ended_) return;
    has_ended_ = true;
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

 private:
  pid_t process_;
  bool has_ended_ = false;
};

// What the system says of a child, of which every process may read the memory, but on systems that forbid it to all.
bool is_forbidden(pid_t process) {
  const std::byte ours{1};
  std::byte theirs{0};
  const iovec to{&theirs, 1};
  const iovec from{const_cast<std::byte*>(&ours), 1};
  return process_vm_readv(process, &to, 1, &from, 1, 0) < 0 && (errno == EPERM || errno == ENOSYS);
}

class ProcessMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    const Child child;
    if (is_forbidden(child.process())) GTEST_SKIP() << "no process may read another one here";
  }
  ProcessMemory memory_of(pid_t process) const { return {process, address_of(&secret_), secret_}; }

  const Secret secret_ = make_secret();
  std::vector<std::byte> data_ = std::vector<std::byte>(100'000, std::byte{7});
};

// What this process has written since is its own.
TEST_F(ProcessMemoryTest, IsThatOfTheOtherProcess) {
  const Child child;
  const ProcessMemory memory = memory_of(child.process());
  ASSERT_TRUE(memory.is_readable());
  std::vector<std::byte> copy(data_.size());
  std::fill(data_.begin(), data_.end(), std::byte{8});
  memory.read(address_of(data_.data()), copy);
  EXPECT_EQ(std::count(copy.begin(), copy.end(), std::byte{7}), 100'000);
  memory.read(address_of(data_.data()) + 1, {});
}

TEST_F(ProcessMemoryTest, OfAProcessThatHasEndedIsNotRead) {
  Child child;
  const ProcessMemory memory = memory_of(child.process());
  child.end();
  EXPECT_FALSE(memory.is_readable());
  EXPECT_NE(refusal(memory, address_of(data_.data()), 100, ErrorCode::peer_lost).find("has ended"), std::string::npos);
}

// Another process that got the number of one that has ended, as far as can be told.
TEST_F(ProcessMemoryTest, OfAStrangerIsNotTaken) {
  const Child child;
  ProcessMemory memory = memory_of(child.process());
  memory.secret[7] ^= std::byte{1};
  EXPECT_FALSE(memory.is_readable());
  EXPECT_NE(refusal(memory, address_of(data_.data()), 100, ErrorCode::peer_lost).find("has ended"), std::string::npos);
}

TEST_F(ProcessMemoryTest, ThatIsNotThereIsRefused) {
  const Child child;
  const ProcessMemory memory = memory_of(child.process());
  EXPECT_NE(refusal(memory, 64, 100, ErrorCode::io).find("100 bytes of memory"), std::string::npos);
  ProcessMemory without_secret = memory;
  without_secret.secret_at = 64;
  EXPECT_FALSE(without_secret.is_readable());
  EXPECT_NE(refusal(without_secret, address_of(data_.data()), 1, ErrorCode::io).find("STRETTO_PROCESS_READS=off"),
            std::string::npos);
}

TEST(ProcessReads, AreWrittenInThreeWays) {
  EXPECT_EQ(parse_process_reads("auto"), ProcessReads::automatic);
  EXPECT_EQ(parse_process_reads("on"), ProcessReads::on);
  EXPECT_EQ(parse_process_reads("off"), ProcessReads::off);
  EXPECT_THROW(parse_process_reads("yes"), Error);
  EXPECT_THROW(parse_process_reads(""), Error);
}

TEST(ProcessReads, AreFastOrNotForAsLongAsAProcessLives) {
  EXPECT_EQ(are_process_reads_fast(), are_process_reads_fast());
}

}  // namespace
}  // namespace stretto::fabric::cluster
