// Feeds arbitrary bytes to the Matrix Market reader: it must answer with a sound matrix or with Error(bad_input).
//   scripts/build fuzz conjugate_gradient_matrix_market_fuzz
//   build/fuzz/bin/conjugate_gradient_matrix_market_fuzz -max_total_time=60

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>

#include "conjugate_gradient/matrix_market.h"
#include "stretto/base/fuzz.h"

namespace {

using stretto::fuzz::require;
using stretto::fuzz::takes;

void require_sound(const conjugate_gradient::SparseMatrix& matrix) {
  require(matrix.rows == matrix.columns && matrix.row_start.size() == matrix.rows + 1);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    const auto columns = matrix.columns_of(row);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      require(columns[i] < matrix.columns && (i == 0 || columns[i - 1] < columns[i]));
      require(std::isfinite(matrix.values_of(row)[i]));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  takes([&] {
    std::istringstream in(text);
    const auto file = conjugate_gradient::read_matrix(in, "fuzz", size);
    require_sound(file.matrix);
    require_sound(conjugate_gradient::require_symmetric(file.matrix, "fuzz"));
  });
  takes([&] {
    std::istringstream in(text);
    require_sound(conjugate_gradient::read_matrix(in, "fuzz", std::nullopt).matrix);
  });
  takes([&] {
    std::istringstream in(text);
    require(conjugate_gradient::read_vector(in, "fuzz", size, 3).size() == 3);
  });
  return 0;
}
