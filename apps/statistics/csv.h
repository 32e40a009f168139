#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The form of a CSV file, line by line: RFC 4180, but that a quoted field ends on its line. So every line feed ends a
/// line, wherever a reader comes in.
namespace statistics {

/// Splits a line, without its end, into fields at its commas, into `fields`. A field in double quotes may hold commas,
/// and a double quote as two; blanks (spaces and tabs) around a field do not count. Throws Error(bad_input), one
/// sentence without the place, for a quote that is not closed in the line and for text behind a closing one.
void split_line(std::string_view line, std::vector<std::string>& fields);

/// What a field holds.
enum class FieldKind : std::uint8_t {
  number,
  missing,  ///< nothing, or NA, N/A, NaN, null, in upper or lower case
  text,     ///< anything else, infinities and hexadecimal numbers too
  out_of_range,
};

/// The greatest absolute value that is accepted: fourth powers of deviations, summed over any file, stay finite.
inline constexpr double most_value = 1e70;
/// The least one, beside 0: fourth powers do not vanish.
inline constexpr double least_value = 1e-70;

struct Field {
  FieldKind kind = FieldKind::missing;
  double value = 0;  ///< of a number
};
/// A decimal number, with a point and an exponent or without, and with a sign or without.
Field parse_field(std::string_view text);

}  // namespace statistics
