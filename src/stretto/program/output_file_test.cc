#include "stretto/program/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "stretto/core/test_support.h"

namespace stretto::program {
namespace {

/// Is gone with all that is in it.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "output_file_" + std::to_string(getpid())) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_;
};

/// No file gets longer than that while this lives, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &limit_);
    const rlimit less{bytes, limit_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &less);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &limit_);
    std::signal(SIGXFSZ, signal_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit limit_{};
  void (*signal_)(int);
};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Why not, where a file "read" is read; "" where they may be written.
std::string refusal(const std::string& read, const std::string& first, const std::string& second = "") {
  const std::array<NamedFile, 2> inputs{{{"--none", ""}, {"--read", read}}};
  const std::array<NamedFile, 2> outputs{{{"--first", first}, {"--second", second}}};
  return why_not_writable(outputs, inputs).value_or("");
}

TEST(OutputFile, IsWrittenWholeAndAnew) {
  const Folder folder;
  const std::string path = folder.file("x");
  EXPECT_EQ(why_not_writable(path), std::nullopt);
  EXPECT_EQ(content_of(path), "");
  write_file(path, "a longer text\n");
  EXPECT_EQ(why_not_writable(path), std::nullopt);
  EXPECT_EQ(content_of(path), "a longer text\n") << "looking does not change it";
  write_file(path, "b\n");
  EXPECT_EQ(content_of(path), "b\n");
}

TEST(OutputFile, WhatCannotBeWrittenIsNamed) {
  const std::string path = testing::TempDir() + "no such folder/x";
  const auto reason = why_not_writable(path);
  ASSERT_TRUE(reason.has_value());
  EXPECT_NE(reason->find(path), std::string::npos);
  EXPECT_EQ(refusal("", "", path), *reason);
  EXPECT_EQ(stretto::test::code_of([&] { write_file(path, "x"); }), "io");
  EXPECT_EQ(stretto::test::code_of([&] { replace_file(path, "x"); }), "io");
}

TEST(OutputFile, NoneIsAskedForByAnEmptyName) {
  EXPECT_EQ(why_not_writable(""), std::nullopt);
  EXPECT_EQ(refusal("", "", ""), "");
}

TEST(OutputFile, NoneOverwritesWhatIsReadOrAnother) {
  const Folder folder;
  const std::string input = folder.file("in");
  write_file(input, "input");
  std::filesystem::create_hard_link(input, folder.file("hard"));
  std::filesystem::create_symlink(input, folder.file("soft"));
  for (const char* const name : {"in", "./in", "hard", "soft"}) {
    const std::string path = folder.file(name);
    EXPECT_EQ(refusal(input, path), "--first would overwrite " + path + ", which is --read, too: name another file");
  }
  const std::string path = folder.file("./new");  // is not there yet
  EXPECT_EQ(refusal(input, folder.file("new"), path),
            "--second would overwrite " + path + ", which is --first, too: name another file");
  EXPECT_FALSE(std::filesystem::exists(path)) << "what is refused creates nothing";
  EXPECT_EQ(refusal(input, folder.file("new"), folder.file("other")), "");
  EXPECT_EQ(content_of(input), "input");
}

TEST(OutputFile, DevicesMayBeNamedTwice) { EXPECT_EQ(refusal("/dev/null", "/dev/null", "/dev/null"), ""); }

// There is nobody at its other end, whom a look would have to wait for.
TEST(OutputFile, PipesAreNotLookedAt) {
  const Folder folder;
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(why_not_writable(pipe), std::nullopt);
}

TEST(OutputFile, IsReplacedWholeOrNotAtAll) {
  const Folder folder;
  const std::string path = folder.file("x");
  const auto replace = [&](const std::string& text) {
    return stretto::test::code_of([&] { replace_file(path, text); });
  };
  EXPECT_EQ(replace("one"), "none");
  EXPECT_EQ(content_of(path), "one");
  EXPECT_EQ(replace("two two"), "none");
  EXPECT_EQ(content_of(path), "two two");
  std::string code;
  {
    const FullDisk disk(4);
    code = replace("three");
  }
  EXPECT_EQ(code, "io");
  EXPECT_EQ(content_of(path), "two two");
  EXPECT_EQ(folder.files(), 1U) << "nothing is left of the attempt";
}

TEST(OutputFile, ReplacingKeepsLinksAndPermissions) {
  const Folder folder;
  const std::string path = folder.file("x");
  const std::string link = folder.file("link");
  write_file(path, "one");
  const auto mine = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(path, mine);
  std::filesystem::create_symlink(path, link);
  replace_file(link, "two");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(content_of(path), "two");
  EXPECT_EQ(std::filesystem::status(path).permissions(), mine);
}

TEST(OutputFile, WhatCannotBeReplacedIsWritten) {
  const Folder folder;
  const std::string path = folder.file(std::string(255, 'x'));  // the longest name: there is none for a draft
  replace_file(path, "one");
  EXPECT_EQ(content_of(path), "one");
  const std::string pipe = folder.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  replace_file(pipe, "two");
  std::string text(8, ' ');
  EXPECT_EQ(read(reader, text.data(), text.size()), 3);
  close(reader);
  EXPECT_EQ(text.substr(0, 3), "two");
}

}  // namespace
}  // namespace stretto::program
