#include "conjugate_gradient/matrix_market.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "stretto/base/error.h"
#include "stretto/base/random.h"

namespace conjugate_gradient {
namespace {

MatrixFile parse(const std::string& text) {
  std::istringstream in(text);
  return read_matrix(in, "m.mtx", text.size());
}

std::vector<double> parse_vector(const std::string& text, std::size_t rows) {
  std::istringstream in(text);
  return read_vector(in, "b.mtx", text.size(), rows);
}

/// The message with which `text` is refused as bad input.
template <class Read>
std::string refusal(Read&& read) {
  try {
    read();
  } catch (const stretto::Error& error) {
    EXPECT_EQ(error.code(), stretto::ErrorCode::bad_input);
    EXPECT_EQ(error.message().find('\n'), std::string::npos) << "one line, please";
    return error.message();
  }
  return "accepted";
}

std::string refusal_of(const std::string& text) {
  return refusal([&] { parse(text); });
}

const std::string general = "%%MatrixMarket matrix coordinate real general\n";
const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";

TEST(MatrixMarket, ReadsCoordinatesInAnyOrderWithCommentsAndBlankLines) {
  const MatrixFile file = parse(general + "% a comment\n\n%\n2 2 3\n2 2 5e0\n\n 1\t1   +4.5 \r\n2 1 -1\n\n");
  EXPECT_EQ(file.matrix.rows, 2U);
  EXPECT_EQ(file.matrix.nonzeros(), 3U);
  EXPECT_EQ(file.matrix.at(0, 0), 4.5);
  EXPECT_EQ(file.matrix.at(0, 1), 0);
  EXPECT_EQ(file.matrix.at(1, 0), -1);
  EXPECT_EQ(file.matrix.at(1, 1), 5);
  EXPECT_FALSE(file.declared_symmetric);
}

TEST(MatrixMarket, MirrorsTheLowerTriangleOfASymmetricFile) {
  const MatrixFile file = parse(symmetric + "3 3 4\n3 1 7\n1 1 1\n2 2 2\n3 3 3");
  EXPECT_TRUE(file.declared_symmetric);
  EXPECT_EQ(file.matrix.nonzeros(), 5U);
  EXPECT_EQ(file.matrix.at(0, 2), 7);
  EXPECT_EQ(file.matrix.at(2, 0), 7);
}

TEST(MatrixMarket, ReadsIntegerAndPatternAndAnyCaseOfTheHeader) {
  EXPECT_EQ(parse("%%matrixmarket MATRIX Coordinate Integer General\n1 1 1\n1 1 -42\n").matrix.at(0, 0), -42);
  EXPECT_EQ(parse("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 2\n").matrix.at(1, 1), 1);
}

TEST(MatrixMarket, ReadsArraysByColumns) {
  const MatrixFile whole = parse("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n");
  EXPECT_EQ(whole.matrix.at(1, 0), 2);
  EXPECT_EQ(whole.matrix.at(0, 1), 3);
  const MatrixFile lower = parse("%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n");
  EXPECT_EQ(lower.matrix.at(2, 0), 3);
  EXPECT_EQ(lower.matrix.at(0, 2), 3);
  EXPECT_EQ(lower.matrix.at(1, 1), 4);
  EXPECT_EQ(lower.matrix.at(2, 2), 6);
}

TEST(MatrixMarket, AddsUpDuplicatesAndSaysSo) {
  const MatrixFile file = parse(symmetric + "2 2 5\n1 1 1\n2 1 0.25\n2 1 0.5\n2 2 1\n1 1 2\n");
  EXPECT_EQ(file.duplicates, 2U);
  EXPECT_EQ(file.matrix.at(0, 0), 3);
  EXPECT_EQ(file.matrix.at(0, 1), 0.75);
  EXPECT_EQ(file.matrix.at(1, 0), 0.75);
}

TEST(MatrixMarket, ReadsEveryWayToWriteANumber) {
  const auto value = [](const std::string& text) {
    return parse(general + "1 1 1\n1 1 " + text + "\n").matrix.at(0, 0);
  };
  EXPECT_EQ(value("1.5D+03"), 1500);
  EXPECT_EQ(value("1e-400"), 0) << "underflow is a rounding, no error";
  EXPECT_EQ(value("4.9e-324"), 4.9e-324);
  EXPECT_EQ(value("-.5"), -0.5);
  EXPECT_EQ(value("0.1"), 0.1);
}

TEST(MatrixMarket, RefusesWhatItDoesNotSupportByName) {
  const auto header = [](const std::string& words) {
    return refusal_of("%%MatrixMarket " + words + "\n1 1 1\n1 1 1\n");
  };
  EXPECT_EQ(header("matrix coordinate complex general"),
            "m.mtx:1: complex matrices are not supported; the entries must be real");
  EXPECT_NE(header("matrix coordinate real hermitian").find("hermitian"), std::string::npos);
  EXPECT_NE(header("matrix coordinate real skew-symmetric").find("skew-symmetric"), std::string::npos);
  EXPECT_NE(header("vector coordinate real general").find("\"vector\""), std::string::npos);
  EXPECT_NE(header("matrix table real general").find("\"table\""), std::string::npos);
  EXPECT_NE(header("matrix coordinate quaternion general").find("\"quaternion\""), std::string::npos);
  EXPECT_NE(header("matrix array pattern general").find("pattern"), std::string::npos);
  EXPECT_NE(header("matrix coordinate real").find("symmetry"), std::string::npos);
  EXPECT_NE(header("matrix coordinate real general extra").find("\"extra\""), std::string::npos);
}

TEST(MatrixMarket, RefusesWhatIsNoMatrixMarketFile) {
  EXPECT_EQ(refusal_of(""), "m.mtx: the file is empty");
  EXPECT_NE(refusal_of("hello world\n").find("m.mtx:1: this is not a Matrix Market file"), std::string::npos);
  EXPECT_NE(refusal_of("\x1f\x8b\b\n").find("gunzip"), std::string::npos);
  EXPECT_NE(refusal_of(std::string(1000, '\0')).find("not a Matrix Market file"), std::string::npos);
  EXPECT_NE(refusal_of(std::string(3000000, 'x')).find("m.mtx:1: the line is longer"), std::string::npos);
}

TEST(MatrixMarket, NamesTheLineThatIsWrong) {
  EXPECT_EQ(refusal_of(general + "% c\n2 2 2\n1 1 1\n9 2 1\n"), "m.mtx:5: the row index 9 is outside of 1 to 2");
  EXPECT_EQ(refusal_of(general + "2 2 2\n1 0 1\n2 2 1\n"), "m.mtx:3: the column index 0 is outside of 1 to 2");
  EXPECT_NE(refusal_of(general + "2 2 2\n1 -1 1\n2 2 1\n").find("m.mtx:3:"), std::string::npos);
  EXPECT_NE(refusal_of(general + "2 2 2\n1 1 1\n2 2 x\n").find("m.mtx:4: the value \"x\" is not a number"),
            std::string::npos);
  EXPECT_NE(refusal_of(general + "2 2 2\n1 1 1\n2 2 ab\x01\n").find("\"ab?\""), std::string::npos);
  EXPECT_EQ(refusal_of(general + "2 2 2\n1 1 nan\n2 2 1\n"), "m.mtx:3: the value \"nan\" is not finite");
  EXPECT_NE(refusal_of(general + "2 2 2\n1 1 -inf\n2 2 1\n").find("is not finite"), std::string::npos);
  EXPECT_NE(refusal_of(general + "2 2 2\n1 1 1e400\n2 2 1\n").find("is not finite"), std::string::npos);
  EXPECT_NE(refusal_of(general + "2 2 2\n1 1 1 1\n2 2 1\n").find("unexpected \"1\""), std::string::npos);
  EXPECT_NE(refusal_of(general + "2 2 2\n1 1\n2 2 1 \n").find("m.mtx:3: the value is missing"), std::string::npos);
  EXPECT_NE(refusal_of("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n").find("whole number"),
            std::string::npos);
  EXPECT_NE(refusal_of(symmetric + "2 2 3\n1 1 1\n1 2 1\n2 2 1\n").find("m.mtx:4: the entry (1, 2) lies above"),
            std::string::npos);
}

TEST(MatrixMarket, RefusesWrongCounts) {
  EXPECT_NE(refusal_of(general + "2 2 2\n1 1 1\n% pad\n").find("m.mtx:4:"), std::string::npos);
  EXPECT_EQ(refusal_of(general + "2 2 3\n1 1 1.00000000\n2 2 1.00000000\n"),
            "m.mtx: the file ends after 2 of 3 entries: it is truncated, or line 2 declares a wrong count");
  EXPECT_EQ(refusal_of(general + "2 2 2\n1 1 1\n2 2 1\n1 2 1\n"),
            "m.mtx:5: there are more entries than the 2 that line 2 declares");
  EXPECT_NE(refusal_of(general + "% only comments\n").find("before the line with the matrix's sizes"),
            std::string::npos);
  EXPECT_NE(refusal_of(general + "2 2\n1 1 1\n2 2 1\n").find("number of entries is missing"), std::string::npos);
  EXPECT_NE(refusal_of("%%MatrixMarket matrix array real general\n2 2\n1.000\n2.000\n3.000\n").find("3 of 4"),
            std::string::npos);
}

TEST(MatrixMarket, RefusesWhatCannotBePositiveDefinite) {
  EXPECT_NE(refusal_of(general + "2 3 2\n1 1 1\n2 2 1\n").find("not square: 2 x 3"), std::string::npos);
  EXPECT_NE(refusal_of(symmetric + "2 3 2\n1 1 1\n2 2 1\n").find("not square: 2 x 3"), std::string::npos);
  EXPECT_NE(refusal_of(general + "0 0 0\n").find("empty"), std::string::npos);
  EXPECT_NE(refusal_of(general + "3 3 2\n1 1 1\n2 2 1\n").find("2 entries cannot fill the diagonal of 3 rows"),
            std::string::npos);
}

TEST(MatrixMarket, RefusesSizesThatTheFileCannotHoldBeforeItAllocates) {
  EXPECT_NE(refusal_of(general + "4000000000 4000000000 4000000000\n1 1 1\n").find("bytes follow"), std::string::npos);
  EXPECT_NE(refusal_of(general + "99999999999 99999999999 99999999999\n1 1 1\n").find("too large"), std::string::npos);
  EXPECT_NE(refusal_of(general + "9 9 99999999999999999999999\n1 1 1\n").find("too large"), std::string::npos);
  EXPECT_NE(refusal_of("%%MatrixMarket matrix array real general\n4294967295 4294967295\n1\n").find("bytes follow"),
            std::string::npos);
  EXPECT_NE(refusal_of("%%MatrixMarket matrix array real symmetric\n4294967295 4294967295\n1\n").find("bytes follow"),
            std::string::npos);
  // Of a pipe the length is unknown; memory still follows the text.
  EXPECT_NE(refusal([] {
              std::istringstream in(general + "4000000000 4000000000 4000000000\n1 1 1\n");
              read_matrix(in, "pipe", std::nullopt);
            }).find("the file ends after 1 of 4000000000 entries"),
            std::string::npos);
}

TEST(MatrixMarket, RefusesDuplicatesThatOverflow) {
  EXPECT_NE(refusal_of(general + "1 1 2\n1 1 1e308\n1 1 1e308\n").find("not finite"), std::string::npos);
}

TEST(MatrixMarket, RefusesFilesThatAreNotThere) {
  EXPECT_NE(refusal([] { read_matrix("/nowhere/m.mtx"); }).find("no such file"), std::string::npos);
  EXPECT_NE(refusal([] { read_matrix("/"); }).find("directory"), std::string::npos);
}

TEST(MatrixMarket, ReadsVectorsOfTheRightLengthOnly) {
  EXPECT_EQ(parse_vector("%%MatrixMarket matrix array real general\n3 1\n1\n0\n-2.5\n", 3),
            (std::vector<double>{1, 0, -2.5}));
  EXPECT_EQ(parse_vector("%%MatrixMarket matrix coordinate real general\n3 1 1\n2 1 4\n", 3),
            (std::vector<double>{0, 4, 0}));
  const auto wrong = [](std::size_t rows) {
    return refusal([&] { parse_vector("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", rows); });
  };
  EXPECT_NE(wrong(2).find("must be 2 x 1"), std::string::npos);
  EXPECT_NE(wrong(4).find("not 2 x 2"), std::string::npos);
}

TEST(MatrixMarket, WritesVectorsThatReadBackTheSame) {
  const std::vector<double> values{0.1, -1.0 / 3, 1e-310, 1.7976931348623157e308, 0, 42};
  const auto path = std::filesystem::temp_directory_path() / ("stretto_vector_" + std::to_string(::getpid()) + ".mtx");
  write_vector(path.string(), values, "a comment");
  EXPECT_EQ(read_vector(path.string(), values.size()), values);
  std::filesystem::remove(path);
  EXPECT_THROW(write_vector("/nowhere/x.mtx", values, ""), stretto::Error);
  EXPECT_THROW(write_vector("/dev/full", values, ""), stretto::Error);
}

/// Lines longer and files larger than the reader's buffer meet its edges.
TEST(MatrixMarket, StreamsAFileOfSeveralBuffers) {
  constexpr std::size_t rows = 150000;
  std::string text = general + std::to_string(rows) + " " + std::to_string(rows) + " " + std::to_string(rows) + "\n";
  for (std::size_t row = 1; row <= rows; ++row) {
    text += std::to_string(row) + " " + std::to_string(row) + " " + std::to_string(row) + ".5\n";
  }
  const MatrixFile file = parse(text);
  for (std::size_t row = 0; row < rows; ++row) {
    ASSERT_EQ(file.matrix.at(row, row), static_cast<double>(row + 1) + 0.5);
  }
}

/// Thousands of damaged files: each is read or refused as bad input, nothing else.
TEST(MatrixMarket, SurvivesMutation) {
  const std::vector<std::string> seeds{symmetric + "% c\n3 3 4\n1 1 4\n2 2 5.25e0\n3 3 6\n3 1 -1\n",
                                       general + "2 2 3\n1 1 1\n2 2 1\n1 1 1\n",
                                       "%%MatrixMarket matrix array real symmetric\n2 2\n1\n2\n3\n",
                                       "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n2 2\n",
                                       "%%MatrixMarket matrix array integer general\n3 1\n1\n2\n3\n"};
  const std::string alphabet = "0123456789+-.eE \n\t%\r\0xDnaif";
  stretto::Random random(7);
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text = seeds[random.below(seeds.size())];
    for (std::uint64_t edits = 1 + random.below(4); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0: text[at] = alphabet[random.below(alphabet.size())]; break;
        case 1: text.erase(at, 1 + random.below(8)); break;
        case 2: text.insert(at, 1, alphabet[random.below(alphabet.size())]); break;
        default: text += text.substr(at); break;
      }
    }
    for (const bool known : {true, false}) {
      try {
        std::istringstream in(text);
        const MatrixFile file =
            read_matrix(in, "m.mtx", known ? std::optional<std::uint64_t>(text.size()) : std::nullopt);
        for (const double value : file.matrix.value) ASSERT_TRUE(std::isfinite(value)) << text;
        for (const std::uint32_t column : file.matrix.column) ASSERT_LT(column, file.matrix.rows) << text;
        ++accepted;
      } catch (const stretto::Error& error) {
        ASSERT_EQ(error.code(), stretto::ErrorCode::bad_input) << text;
        ++refused;
      }
    }
    try {
      ASSERT_EQ(parse_vector(text, 3).size(), 3U);
    } catch (const stretto::Error& error) {
      ASSERT_EQ(error.code(), stretto::ErrorCode::bad_input) << text;
    }
  }
  EXPECT_GT(accepted, 50U) << "mutations so wild that nothing is read test little";
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace conjugate_gradient
