#include "stretto/base/units.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <span>
#include <system_error>

#include "stretto/base/error.h"

namespace stretto {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Each from small to large.
constexpr std::array<Unit, 6> duration_units{
    {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}, {"min", 60.0}, {"h", 3600.0}}};
constexpr std::array<Unit, 5> decimal_units{{{"B", 1.0}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}};
constexpr std::array<Unit, 5> binary_units{
    {{"B", 1.0}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}}};
constexpr std::array<Unit, 4> short_units{{{"K", 0x1p10}, {"M", 0x1p20}, {"G", 0x1p30}, {"T", 0x1p40}}};
constexpr std::array<Unit, 5> bit_units{
    {{"bit", 0.125}, {"Kbit", 125.0}, {"Mbit", 125e3}, {"Gbit", 125e6}, {"Tbit", 125e9}}};

constexpr std::string_view duration_form = "a number with ns, us, ms, s, min or h, such as 1.5us";
constexpr std::string_view bytes_form =
    "a whole number of bytes, with a unit if you like, such as 64KiB, 64K, 1.5MB or 4096";
constexpr std::string_view bandwidth_form = "a positive number with a unit, such as 5GB/s or 100Gbit/s";

[[noreturn]] void refuse(std::string_view name, std::string_view text, std::string_view form) {
  throw Error(ErrorCode::bad_input,
              std::string(name) + " is '" + std::string(text) + "', but must be " + std::string(form));
}

struct Quantity {
  double number;
  std::string_view unit;
};

/// Splits "1.5 us" into 1.5 and "us"; refuses what is not a finite number of at least zero.
Quantity split(std::string_view text, std::string_view name, std::string_view form) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !std::isfinite(number) || std::signbit(number)) refuse(name, text, form);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.size() > 1 && unit.front() == ' ') unit.remove_prefix(1);
  return {.number = number, .unit = unit};
}

char lower(char character) {
  const bool is_upper = character >= 'A' && character <= 'Z';
  return is_upper ? static_cast<char>(character - 'A' + 'a') : character;
}

bool same_in_any_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

/// The factor of `unit`, or 0 when no table has it.
double factor_of(std::string_view unit, std::span<const Unit> units) {
  for (const Unit& candidate : units) {
    if (same_in_any_case(unit, candidate.name)) return candidate.factor;
  }
  return 0;
}

/// A small b is refused, since some read it as bit.
double factor_of_bytes(std::string_view unit) {
  if (!unit.ends_with('B')) return 0;
  const double factor = factor_of(unit, decimal_units);
  return factor > 0 ? factor : factor_of(unit, binary_units);
}

/// Of the sizes of memory and messages: also "K", binary as these mostly are.
double factor_of_size(std::string_view unit) {
  if (unit.empty()) return 1;
  const double factor = factor_of(unit, short_units);
  return factor > 0 ? factor : factor_of_bytes(unit);
}

std::string with_unit(double value, std::span<const Unit> units) {
  auto unit = units.begin();
  while (unit + 1 != units.end() && value >= unit[1].factor) ++unit;
  std::array<char, 32> digits{};
  const auto written =
      std::to_chars(digits.data(), digits.data() + digits.size(), value / unit->factor, std::chars_format::general, 4);
  double rounded = 0;
  std::from_chars(digits.data(), written.ptr, rounded);
  // 999.96 ns is 1 us.
  const bool is_next = unit + 1 != units.end() && rounded >= std::round(unit[1].factor / unit->factor);
  if (is_next) return "1 " + std::string(unit[1].name);
  return std::string(digits.data(), written.ptr) + " " + std::string(unit->name);
}

}  // namespace

double parse_duration(std::string_view text, std::string_view name) {
  const Quantity quantity = split(text, name, duration_form);
  if (quantity.unit.empty() && quantity.number == 0) return 0;
  const auto* const unit = std::find_if(duration_units.begin(), duration_units.end(),
                                        [&](const Unit& candidate) { return candidate.name == quantity.unit; });
  if (unit == duration_units.end()) refuse(name, text, duration_form);
  // Dividing by the exact inverse rounds once: 1.5us is the double nearest to 1.5e-6.
  const double seconds =
      unit->factor < 1 ? quantity.number / std::round(1 / unit->factor) : quantity.number * unit->factor;
  if (!std::isfinite(seconds)) refuse(name, text, duration_form);
  return seconds;
}

std::uint64_t parse_bytes(std::string_view text, std::string_view name) {
  const Quantity quantity = split(text, name, bytes_form);
  const double factor = factor_of_size(quantity.unit);
  const double bytes = std::round(quantity.number * factor);
  // Fractions of a unit must be those of whole bytes: "1.1KB" is 1100 bytes; "0.3B" and "1.0000005" are refused.
  if (factor == 0 || bytes / factor != quantity.number || bytes >= 0x1p53) refuse(name, text, bytes_form);
  return static_cast<std::uint64_t>(bytes);
}

double parse_bandwidth(std::string_view text, std::string_view name) {
  const Quantity quantity = split(text, name, bandwidth_form);
  if (!quantity.unit.ends_with("/s")) refuse(name, text, bandwidth_form);
  const std::string_view unit = quantity.unit.substr(0, quantity.unit.size() - 2);
  const double bytes = factor_of_bytes(unit);
  const double bandwidth = quantity.number * (bytes > 0 ? bytes : factor_of(unit, bit_units));
  // Most who ask go by the time of a byte.
  const bool is_usable = std::isfinite(bandwidth) && std::isfinite(1 / bandwidth);
  if (!(bandwidth > 0) || !is_usable) refuse(name, text, bandwidth_form);
  return bandwidth;
}

std::uint64_t parse_count(std::string_view text, std::string_view name, std::uint64_t least, std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < least || value > most) {
    refuse(name, text, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return value;
}

double parse_number(std::string_view text, std::string_view name, double least, double most) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || !(value >= least && value <= most)) {
    std::array<char, 64> form{};
    const int length = std::snprintf(form.data(), form.size(), "a number from %g to %g", least, most);
    refuse(name, text, std::string_view(form.data(), static_cast<std::size_t>(length)));
  }
  return value;
}

std::string format_duration(double seconds) {
  if (seconds == 0) return "0 s";
  return with_unit(seconds, duration_units);
}

std::string format_bytes(std::uint64_t bytes) { return with_unit(static_cast<double>(bytes), binary_units); }

std::string format_bandwidth(double bytes_per_second) { return with_unit(bytes_per_second, decimal_units) + "/s"; }

}  // namespace stretto
