#include "statistics/share.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "statistics/agreement.h"
#include "statistics/test_support.h"

namespace statistics {
namespace {

Source source_of(const TemporaryFile& file, const std::string& columns = "", Header header = Header::automatic) {
  Source source;
  source.file = file.path();
  source.columns = columns;
  source.header = header;
  return source;
}

/// All parts' rows, one after the other; the file has no fault.
Table read_all(const Source& source, std::uint32_t parts) {
  Table table;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const Share share = read_share(source, part, parts);
    EXPECT_FALSE(share.complaint.has_value()) << share.complaint->text;
    table.columns.resize(share.table.columns.size());
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      table.columns[i].insert(table.columns[i].end(), share.table.columns[i].begin(), share.table.columns[i].end());
    }
  }
  return table;
}

bool same(const Table& a, const Table& b) {
  if (a.columns.size() != b.columns.size() || a.rows() != b.rows()) return false;
  for (std::size_t i = 0; i < a.columns.size(); ++i) {
    for (std::size_t row = 0; row < a.rows(); ++row) {
      const double x = a.columns[i][row], y = b.columns[i][row];
      if (x != y && !(std::isnan(x) && std::isnan(y))) return false;
    }
  }
  return true;
}

/// What all nodes say together, told by the first part with a fault.
std::string complaint(const Source& source, std::uint32_t parts) {
  std::vector<Summary> before;
  for (std::uint32_t part = 0; part < parts; ++part) {
    const Share share = read_share(source, part, parts);
    if (share.complaint) return place(*share.complaint, share, source, before);
    before.push_back(Summary::of(share));
  }
  return "";
}

TEST(Share, EveryRowIsInOnePart) {
  const Table table = some_table(37);
  const TemporaryFile file(csv_of(table));
  for (std::uint32_t parts = 1; parts <= 64; ++parts)
    EXPECT_TRUE(same(read_all(source_of(file), parts), table)) << parts;
  EXPECT_TRUE(same(read_all(source_of(file), 5000), table)) << "more parts than bytes";
}

TEST(Share, WhereverTheBordersFall) {
  // Short and long lines, blank ones, both kinds of ends, quotes, and no end at the end.
  const TemporaryFile file("x,note\r\n1,a\n\n  \r\n22,\"b, \"\"c\"\"\"\r\n" + std::string(40, ' ') +
                           "333,\n\n4,d\r\n5,e");
  Table expected;
  expected.columns = {{1, 22, 333, 4, 5}};
  for (std::uint32_t parts = 1; parts <= 130; ++parts) {
    EXPECT_TRUE(same(read_all(source_of(file, "x"), parts), expected)) << parts;
  }
}

TEST(Share, AMarkAtTheBeginningIsNoPartOfTheFirstField) {
  for (const char* const text : {"\xEF\xBB\xBF"
                                 "x\n1\n2\n",
                                 "\xEF\xBB\xBF"
                                 "1\n2\n"}) {
    const TemporaryFile file(text);
    for (std::uint32_t parts = 1; parts <= 8; ++parts) EXPECT_EQ(read_all(source_of(file), parts).rows(), 2U);
    EXPECT_EQ(read_share(source_of(file, "1"), 0, 1).layout.names.size(), 1U);
  }
}

std::vector<std::string> names(const std::string& text, const std::string& columns = "",
                               Header header = Header::automatic) {
  const TemporaryFile file(text);
  const Share share = read_share(source_of(file, columns, header), 0, 1);
  EXPECT_FALSE(share.complaint.has_value()) << share.complaint->text;
  return share.layout.names;
}

using Names = std::vector<std::string>;

TEST(Layout, AHeaderHoldsTextAndNoNumber) {
  EXPECT_EQ(names("a,b\n1,2\n"), (Names{"a", "b"}));
  EXPECT_EQ(names("\na,\n1,2\n"), (Names{"a", ""}));
  EXPECT_EQ(names("3,4\n1,2\n"), (Names{"1", "2"}));
  EXPECT_EQ(names("x,4\ny,2\n"), (Names{"2"})) << "a row with text";
  EXPECT_EQ(names("2019,2020\n1,2\n", "", Header::yes), (Names{"2019", "2020"}));
  EXPECT_EQ(names("NA,\n1,2\n"), (Names{"1", "2"})) << "missing values are no names";
}

TEST(Layout, ColumnsThatBeginWithANumberAreTaken) { EXPECT_EQ(names("a,b,c,d\nx,1,,y\n"), (Names{"b", "c"})); }

TEST(Layout, ColumnsAreChosenByNameOrNumber) {
  EXPECT_EQ(names("a,b,c\n1,2,3\n", "c,a"), (Names{"c", "a"}));
  EXPECT_EQ(names("a,b,c\n1,2,3\n", "3, 1"), (Names{"c", "a"}));
  EXPECT_EQ(names("2,1\n1,2\n", "1", Header::yes), (Names{"1"})) << "a name goes before a number";
  EXPECT_EQ(names("\"a, b\",c\n1,2\n", "\"a, b\""), (Names{"a, b"}));
  EXPECT_EQ(names("a,a\n1,2\n", "2"), (Names{"a"}));
}

struct Fault {
  const char* text;
  const char* columns;
  const char* said;  // after the file's name

  friend void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.said; }
};

class Faults : public testing::TestWithParam<Fault> {};

TEST_P(Faults, AreToldWithTheirPlaceWhateverTheNumberOfParts) {
  const TemporaryFile file(GetParam().text);
  for (std::uint32_t parts = 1; parts <= 40; ++parts) {
    const std::string said = complaint(source_of(file, GetParam().columns), parts);
    EXPECT_NE(said.find(file.path()), std::string::npos) << said;
    EXPECT_NE(said.find(GetParam().said), std::string::npos) << parts << " parts: " << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Faults,
    testing::Values(Fault{"", "", ":1: the file is empty"}, Fault{"\n\r\n \n", "", ":3: the file is empty"},
                    Fault{"a,b\n", "", ":1: no row follows the header"},
                    Fault{"a,b\nx,y\n", "", " has no column of numbers"},
                    Fault{"a,b\n1,2\n3\n", "", ":3: 1 field, not 2 as in the first line"},
                    Fault{"a,b\n1,2,3\n4,5\n", "", ":2: 3 fields, not 2 as in the first line"},
                    Fault{"a,b\r\n\r\n1,2\r\n\r\n3,4\r\n5,6,7\r\n8,9,0\r\n", "", ":6: 3 fields, not 2"},
                    Fault{"a,b\n1,2\n3,4\n5,six\n7\n", "", ":4: column \"b\": \"six\" is not a number"},
                    Fault{"1,2\n3,x\n", "", ":2: column \"2\": \"x\" is not a number"},
                    Fault{"a,b\nx,1\n", "a", ":2: column \"a\": \"x\" is not a number"},
                    Fault{"a\n1\n1e71\n", "", ":3: column \"a\": \"1e71\" is beyond 1e70"},
                    Fault{"a,b\n1,2\n3,\"4\n5,6\"\n", "", ":3: a quoted field is not closed"},
                    Fault{"a,\"b\n1,2\n", "", ":1: a quoted field is not closed"},
                    Fault{"a,b\n1,\"2\" 3\n", "", ":2: text follows a closing quote"},
                    Fault{"a,b\n1,2\n", "c", " has no column \"c\", and 2 columns in all"},
                    Fault{"a,b\n1,2\n", "3", " has no column \"3\""}, Fault{"a,b\n1,2\n", "0", " has no column \"0\""},
                    Fault{"a,a\n1,2\n", "a", "\"a\" is the name of several columns"}));

TEST(Share, ALineThatIsTooLongIsRefused) {
  const TemporaryFile fits("a\n1" + std::string(65'534, ' ') + "\n2\n");
  EXPECT_EQ(complaint(source_of(fits), 3), "");
  const TemporaryFile file("a\n1\n2" + std::string(65'535, ' ') + "\n3\n");
  for (const std::uint32_t parts : {1U, 2U, 7U}) {
    EXPECT_NE(complaint(source_of(file), parts).find(":3: the line is longer than 65535 bytes"), std::string::npos);
  }
}

TEST(Share, TooManyColumnsAreRefused) {
  std::string line = "1";
  for (int i = 1; i < 257; ++i) line += ",1";
  const TemporaryFile file(line + "\n");
  EXPECT_NE(complaint(source_of(file), 2).find("257 columns are more than the 256"), std::string::npos);
  EXPECT_EQ(complaint(source_of(file, "257,1"), 2), "");
}

TEST(Share, AColumnAskedForTwiceIsRefused) {
  const TemporaryFile file("a,b\n1,2\n");
  EXPECT_EQ(complaint(source_of(file, "b,2"), 1), "--columns names column \"2\" twice");
}

TEST(Share, WhatIsNoFileIsRefused) {
  Source source;
  source.file = "none.csv";
  EXPECT_EQ(complaint(source, 3), "none.csv is not there, or may not be looked for");
  source.file = ".";
  EXPECT_EQ(complaint(source, 3), ". is no regular file; name a CSV file");
}

}  // namespace
}  // namespace statistics
