#include "stretto/program/output_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include "stretto/core/test_support.h"

namespace stretto::program {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(OutputFile, IsWrittenWholeAndAnew) {
  const std::string path = testing::TempDir() + "output_file_" + std::to_string(getpid());
  EXPECT_EQ(why_not_writable(path), std::nullopt);
  EXPECT_EQ(content_of(path), "");
  write_file(path, "a longer text\n");
  EXPECT_EQ(why_not_writable(path), std::nullopt);
  EXPECT_EQ(content_of(path), "a longer text\n") << "looking does not change it";
  write_file(path, "b\n");
  EXPECT_EQ(content_of(path), "b\n");
  std::remove(path.c_str());
}

TEST(OutputFile, WhatCannotBeWrittenIsNamed) {
  const std::string path = testing::TempDir() + "no such folder/x";
  const auto reason = why_not_writable(path);
  ASSERT_TRUE(reason.has_value());
  EXPECT_NE(reason->find(path), std::string::npos);
  EXPECT_EQ(stretto::test::code_of([&] { write_file(path, "x"); }), "io");
}

TEST(OutputFile, NoneIsAskedForByAnEmptyName) { EXPECT_EQ(why_not_writable(""), std::nullopt); }

}  // namespace
}  // namespace stretto::program
