#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// Quantities as people write them, in settings and on command lines. `name` is what the value is called where it came
// from; an Error(bad_input) names it, its value and the form that was expected.

namespace stretto {

/// Seconds. A number of ns, us, ms, s, min or h: "1.5us", "2 min". Only zero needs no unit.
double parse_duration(std::string_view text, std::string_view name = "duration");

/// A whole number of bytes. Units are B, decimal kB (or KB) ... TB, binary KiB ... TiB or K ... T: "64KiB", "64K",
/// "1.5MB", "4096".
std::uint64_t parse_bytes(std::string_view text, std::string_view name = "size");

/// Bytes per second, more than zero, so that the seconds per byte are a finite number: "5GB/s", "10GiB/s", "100Gbit/s".
double parse_bandwidth(std::string_view text, std::string_view name = "bandwidth");

/// A whole number without unit, of [least, most].
std::uint64_t parse_count(std::string_view text, std::string_view name = "count", std::uint64_t least = 0,
                          std::uint64_t most = ~std::uint64_t{0});

/// A finite number without unit, of [least, most].
double parse_number(std::string_view text, std::string_view name, double least, double most);

/// "1.5 us": four significant digits at most, in the unit that leaves one to three digits before the point.
std::string format_duration(double seconds);

/// "64 KiB": four significant digits at most, in binary units.
std::string format_bytes(std::uint64_t bytes);

/// "5 GB/s": four significant digits at most, in decimal units.
std::string format_bandwidth(double bytes_per_second);

}  // namespace stretto
