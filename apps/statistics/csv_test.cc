#include "statistics/csv.h"

#include <gtest/gtest.h>

#include "stretto/base/error.h"

namespace statistics {
namespace {

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> fields{"left", "over", "from", "before"};
  split_line(line, fields);
  return fields;
}

using Fields = std::vector<std::string>;

TEST(SplitLine, AtCommas) {
  EXPECT_EQ(split("1,2,3"), (Fields{"1", "2", "3"}));
  EXPECT_EQ(split("1"), (Fields{"1"}));
  EXPECT_EQ(split("a,b,c,d,e,f"), (Fields{"a", "b", "c", "d", "e", "f"}));
}

TEST(SplitLine, EmptyFieldsCount) {
  EXPECT_EQ(split(",1,,"), (Fields{"", "1", "", ""}));
  EXPECT_EQ(split(","), (Fields{"", ""}));
  EXPECT_EQ(split(""), (Fields{""}));
}

TEST(SplitLine, BlanksAroundFieldsDoNotCount) { EXPECT_EQ(split(" 1 ,\t2 3\t, \"x\" "), (Fields{"1", "2 3", "x"})); }

TEST(SplitLine, QuotedFieldsHoldAnything) {
  EXPECT_EQ(split("\"a,b\",\" 1 \",\"\""), (Fields{"a,b", " 1 ", ""}));
  EXPECT_EQ(split("\"say \"\"ah\"\"\",\"\"\"\""), (Fields{"say \"ah\"", "\""}));
  EXPECT_EQ(split("5\",6"), (Fields{"5\"", "6"})) << "a quote within is no quote";
}

TEST(SplitLine, RefusesOpenQuotesAndTextBehindThem) {
  for (const char* const line : {"\"", "1,\"a", "\"a\"\"", "\"a\"b,1", "\"1\" 2"}) {
    EXPECT_THROW(split(line), stretto::Error) << line;
  }
}

TEST(ParseField, Numbers) {
  const auto value = [](std::string_view text) {
    const Field field = parse_field(text);
    EXPECT_EQ(field.kind, FieldKind::number) << text;
    return field.value;
  };
  EXPECT_EQ(value("0"), 0);
  EXPECT_EQ(value("-1.25"), -1.25);
  EXPECT_EQ(value("+3"), 3);
  EXPECT_EQ(value(".5"), 0.5);
  EXPECT_EQ(value("2e3"), 2000);
  EXPECT_EQ(value("-1E-3"), -0.001);
  EXPECT_EQ(value("1e70"), 1e70);
  EXPECT_EQ(value("-1e-70"), -1e-70);
  EXPECT_EQ(value("0e-999"), 0);
  EXPECT_EQ(value("0.1"), 0.1);
}

TEST(ParseField, MissingValues) {
  for (const char* const text : {"", "NA", "na", "N/A", "NaN", "nan", "null", "NULL"}) {
    EXPECT_EQ(parse_field(text).kind, FieldKind::missing) << text;
  }
}

TEST(ParseField, Text) {
  for (const char* const text : {"x", "1x", "1 2", "--1", "+-1", "+", "-", ".", "e5", "inf", "-inf", "infinity", "0x10",
                                 "1,5", "nano", "n", "nan(1)", "-nan"}) {
    EXPECT_EQ(parse_field(text).kind, FieldKind::text) << text;
  }
}

TEST(ParseField, WhatDoesNotFit) {
  for (const char* const text : {"1.0001e70", "-1e71", "1e999", "-1e999", "1e-999", "9.999e-71", "-1e-100", "5e-324"}) {
    EXPECT_EQ(parse_field(text).kind, FieldKind::out_of_range) << text;
  }
}

}  // namespace
}  // namespace statistics
