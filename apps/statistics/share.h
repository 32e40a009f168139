#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "statistics/options.h"
#include "statistics/table.h"

namespace statistics {

/// What a file's beginning says, the same for all who read it.
struct Layout {
  std::size_t fields = 0;           ///< of each line
  std::vector<std::size_t> chosen;  ///< which of them are read
  std::vector<std::string> names;   ///< of the chosen ones; numbers from 1 where the file has no header
  std::uint64_t begin = 0;          ///< the byte at which the rows begin
  std::uint64_t lines_before = 0;
};

/// What is wrong with a file.
struct Complaint {
  std::string text;
  std::uint64_t line = 0;  ///< of the share's lines, from 1; 0 where the text says all
};

/// One part of a file's rows.
struct Share {
  Layout layout;
  Table table;
  std::uint64_t file_bytes = 0;
  std::uint64_t lines = 0;  ///< read, blank ones too; up to the one complained about
  std::optional<Complaint> complaint;
};

/// Reads the rows of part `part` of `parts`: the lines that begin within its part of the bytes behind the header. So
/// each line belongs to one part, whatever their number. Does not throw for what is wrong with the file.
Share read_share(const Source& source, std::uint32_t part, std::uint32_t parts);

}  // namespace statistics
