#include "stretto/base/units.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stretto/base/error.h"

namespace stretto {
namespace {

/// What the error says that `call` throws; empty when it throws none.
template <class Call>
std::string complaint_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    return error.message();
  }
  return "";
}

TEST(ParseDuration, ReadsEachUnit) {
  EXPECT_EQ(parse_duration("3ns"), 3e-9);
  EXPECT_EQ(parse_duration("1.5us"), 1.5e-6);
  EXPECT_EQ(parse_duration("20 ms"), 20e-3);
  EXPECT_EQ(parse_duration("2s"), 2.0);
  EXPECT_EQ(parse_duration("1e3s"), 1000.0);
  EXPECT_EQ(parse_duration("2min"), 120.0);
  EXPECT_EQ(parse_duration("0.5h"), 1800.0);
  EXPECT_EQ(parse_duration("0"), 0.0);
}

TEST(ParseDuration, RefusesWhatIsNone) {
  for (const char* text : {"", "5", "us", "-1us", "-0s", "1.5 parsecs", "1us ", " 1us", "1us2", "nan s", "inf s",
                           "infs", "1e400s", "1e308h", "0x10us", "1,5us", "US", "1US", "1  us"}) {
    EXPECT_NE(complaint_of([&] { parse_duration(text); }), "") << text;
  }
}

TEST(ParseDuration, SaysWhatItExpected) {
  EXPECT_EQ(complaint_of([] { parse_duration("5", "latency"); }),
            "latency is '5', but must be a number with ns, us, ms, s, min or h, such as 1.5us");
}

TEST(ParseBytes, ReadsEachUnit) {
  EXPECT_EQ(parse_bytes("0"), 0U);
  EXPECT_EQ(parse_bytes("4096"), 4096U);
  EXPECT_EQ(parse_bytes("8B"), 8U);
  EXPECT_EQ(parse_bytes("64KiB"), 65'536U);
  EXPECT_EQ(parse_bytes("64 kiB"), 65'536U);
  EXPECT_EQ(parse_bytes("64K"), 65'536U);
  EXPECT_EQ(parse_bytes("64 k"), 65'536U);
  EXPECT_EQ(parse_bytes("1.5M"), 1'572'864U);
  EXPECT_EQ(parse_bytes("64G"), 68'719'476'736U);
  EXPECT_EQ(parse_bytes("1T"), 1'099'511'627'776U);
  EXPECT_EQ(parse_bytes("64KB"), 64'000U);
  EXPECT_EQ(parse_bytes("64kB"), 64'000U);
  EXPECT_EQ(parse_bytes("1.1KB"), 1'100U);
  EXPECT_EQ(parse_bytes("1.5MiB"), 1'572'864U);
  EXPECT_EQ(parse_bytes("64GiB"), 68'719'476'736U);
  EXPECT_EQ(parse_bytes("2TB"), 2'000'000'000'000U);
  for (std::uint64_t tenths = 0; tenths < 10'000; ++tenths) {
    const std::string number = std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10);
    EXPECT_EQ(parse_bytes(number + "KB"), tenths * 100);
    EXPECT_EQ(parse_bytes(number + "TB"), tenths * 100'000'000'000U);
  }
}

TEST(ParseBytes, RefusesWhatIsNone) {
  for (const char* text :
       {"", "KiB", "-1", "0.3B", "1.5", "1Kbit", "1Ki", "1P", "1kb", "1 KiB/s", "99999999TiB", "1e300", "nan",
        "0.0000001B", "1e-320", "1.0000005", "4503599627370495.5", "1.0000000000001GB"}) {
    EXPECT_NE(complaint_of([&] { parse_bytes(text); }), "") << text;
  }
}

TEST(ParseBandwidth, ReadsEachUnit) {
  EXPECT_EQ(parse_bandwidth("5GB/s"), 5e9);
  EXPECT_EQ(parse_bandwidth("1GiB/s"), 1073741824.0);
  EXPECT_EQ(parse_bandwidth("100Gbit/s"), 12.5e9);
  EXPECT_EQ(parse_bandwidth("8 bit/s"), 1.0);
  EXPECT_EQ(parse_bandwidth("0.5B/s"), 0.5);
}

TEST(ParseBandwidth, RefusesWhatIsNone) {
  for (const char* text :
       {"", "5", "5GB", "5G/s", "0GB/s", "-5GB/s", "5/s", "/s", "5Gb/s", "infGB/s", "1e308TB/s", "1e-309B/s"}) {
    EXPECT_NE(complaint_of([&] { parse_bandwidth(text); }), "") << text;
  }
}

TEST(ParseCount, ReadsWholeNumbersInTheirRange) {
  EXPECT_EQ(parse_count("0"), 0U);
  EXPECT_EQ(parse_count("18446744073709551615"), ~std::uint64_t{0});
  EXPECT_EQ(parse_count("8", "nodes", 1, 8), 8U);
  for (const char* text : {"", "-1", "+1", "1.0", "1 ", "0x1", "18446744073709551616"}) {
    EXPECT_NE(complaint_of([&] { parse_count(text); }), "") << text;
  }
  EXPECT_EQ(complaint_of([] { parse_count("9", "nodes", 1, 8); }),
            "nodes is '9', but must be a whole number from 1 to 8");
}

TEST(ParseNumber, ReadsNumbersInTheirRange) {
  EXPECT_EQ(parse_number("0.25", "probability", 0, 1), 0.25);
  for (const char* text : {"", "1.5", "-0.1", "nan", "0.5x"}) {
    EXPECT_NE(complaint_of([&] { parse_number(text, "probability", 0, 1); }), "") << text;
  }
  EXPECT_EQ(complaint_of([] { parse_number("2", "probability", 0, 1); }),
            "probability is '2', but must be a number from 0 to 1");
}

TEST(Format, ChoosesTheUnit) {
  EXPECT_EQ(format_duration(0), "0 s");
  EXPECT_EQ(format_duration(1.5e-6), "1.5 us");
  EXPECT_EQ(format_duration(2.5e-10), "0.25 ns");
  EXPECT_EQ(format_duration(0.01234567), "12.35 ms");
  EXPECT_EQ(format_duration(90), "1.5 min");
  EXPECT_EQ(format_duration(7200), "2 h");
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(65'536), "64 KiB");
  EXPECT_EQ(format_bytes(68'719'476'736), "64 GiB");
  EXPECT_EQ(format_bandwidth(5e9), "5 GB/s");
  EXPECT_EQ(format_bandwidth(0.5), "0.5 B/s");
}

TEST(Format, RoundsBeforeItChoosesTheUnit) {
  EXPECT_EQ(format_duration(999.94e-9), "999.9 ns");
  EXPECT_EQ(format_duration(999.96e-9), "1 us");
  EXPECT_EQ(format_duration(0.99996), "1 s");
  EXPECT_EQ(format_duration(59.996), "1 min");
  EXPECT_EQ(format_duration(3599.9), "1 h");
  EXPECT_EQ(format_duration(1e6 * 3600), "1e+06 h");
  EXPECT_EQ(format_duration(12'345.6), "3.429 h");
  EXPECT_EQ(format_bytes(1'048'565), "1 MiB");
  EXPECT_EQ(format_bytes(1'048'000), "1023 KiB");
  EXPECT_EQ(format_bandwidth(999'960), "1 MB/s");
}

TEST(Format, IsReadBack) {
  for (const double seconds : {1e-9, 1.5e-6, 0.25, 59.0, 3600.0}) {
    EXPECT_DOUBLE_EQ(parse_duration(format_duration(seconds)), seconds);
  }
  for (const std::uint64_t bytes : std::vector<std::uint64_t>{1, 1023, 1024, 1536, 1U << 30U}) {
    EXPECT_EQ(parse_bytes(format_bytes(bytes)), bytes);
  }
  EXPECT_DOUBLE_EQ(parse_bandwidth(format_bandwidth(12.5e9)), 12.5e9);
}

}  // namespace
}  // namespace stretto
