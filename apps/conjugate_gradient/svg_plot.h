#pragma once

#include <span>
#include <string>
#include <vector>

namespace conjugate_gradient {

/// One curve: values[i] belongs to iteration i. Values that are not positive are left out, for the axis is a logarithm.
struct Series {
  std::string name;
  std::vector<double> values;
};

struct PlotText {
  std::string title;
  std::string x_label = "iteration";
  std::string y_label = "relative residual";
};

/// An SVG picture of convergence: iterations to the right, values upwards on a logarithmic axis, a legend, and a dashed
/// line at `tolerance` where that is positive. Curves with very many points are thinned to what the eye can tell apart.
std::string convergence_svg(std::span<const Series> series, const PlotText& text, double tolerance);

}  // namespace conjugate_gradient
