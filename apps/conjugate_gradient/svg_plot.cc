#include "conjugate_gradient/svg_plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string_view>

#include "stretto/base/xml_text.h"

namespace conjugate_gradient {
namespace {

using stretto::xml_text;

constexpr double width = 820;
constexpr double height = 480;
constexpr double left = 84;
constexpr double right = 24;
constexpr double top = 56;
constexpr double bottom = 62;
/// Told apart by people of all kinds of colour vision (Okabe and Ito).
constexpr std::array<const char*, 6> colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

std::string fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string label(double x, double y, std::string_view attributes, std::string_view inner) {
  return "<text x=\"" + fixed(x) + "\" y=\"" + fixed(y) + "\" " + std::string(attributes) + ">" + std::string(inner) +
         "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  return "<line x1=\"" + fixed(x1) + "\" y1=\"" + fixed(y1) + "\" x2=\"" + fixed(x2) + "\" y2=\"" + fixed(y2) + "\" " +
         std::string(attributes) + "/>\n";
}

/// Where data lie on the picture: iterations [0, last], decades [low, high].
struct Axes {
  double last = 1;
  int low = 0;
  int high = 1;

  double x(double iteration) const { return left + iteration / last * (width - left - right); }
  double y(double decade) const {
    return top + (high - decade) / static_cast<double>(high - low) * (height - top - bottom);
  }
};

Axes fit(std::span<const Series> series, double tolerance) {
  double smallest = tolerance > 0 ? tolerance : 1;
  double largest = 1;
  std::size_t last = 1;
  for (const Series& one : series) {
    if (!one.values.empty()) last = std::max(last, one.values.size() - 1);
    for (const double value : one.values) {
      if (!(value > 0) || !std::isfinite(value)) continue;
      smallest = std::min(smallest, value);
      largest = std::max(largest, value);
    }
  }
  Axes axes;
  axes.last = static_cast<double>(last);
  axes.low = static_cast<int>(std::floor(std::log10(smallest)));
  axes.high = std::max(axes.low + 1, static_cast<int>(std::ceil(std::log10(largest))));
  return axes;
}

/// The smallest of 1, 2, 5 times a power of ten that cuts `range` into at most `pieces`.
double tick_distance(double range, double pieces) {
  double distance = 1;
  for (;;) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (range / (distance * factor) <= pieces) return distance * factor;
    }
    distance *= 10;
  }
}

std::string draw_axes(const Axes& axes, const PlotText& text) {
  std::string svg;
  const double floor = height - bottom;
  const int step = std::max(1, static_cast<int>(std::ceil((axes.high - axes.low) / 10.0)));
  for (int decade = axes.high; decade >= axes.low; decade -= step) {
    svg += line(left, axes.y(decade), width - right, axes.y(decade), "stroke=\"#e4e7eb\"");
    svg += label(left - 10, axes.y(decade) + 4, "text-anchor=\"end\" fill=\"#52606d\"",
                 "10<tspan dy=\"-5\" font-size=\"9\">" + std::to_string(decade) + "</tspan>");
  }
  const double distance = tick_distance(axes.last, 8);
  for (double tick = 0; tick <= axes.last; tick += distance) {
    svg += line(axes.x(tick), floor, axes.x(tick), floor + 5, "stroke=\"#7b8794\"");
    svg +=
        label(axes.x(tick), floor + 20, "text-anchor=\"middle\" fill=\"#52606d\"", std::to_string(std::lround(tick)));
  }
  svg += line(left, top, left, floor, "stroke=\"#7b8794\"");
  svg += line(left, floor, width - right, floor, "stroke=\"#7b8794\"");
  svg += label(left, 30, "font-size=\"16\" font-weight=\"600\" fill=\"#1f2933\"", xml_text(text.title));
  svg +=
      label((left + width - right) / 2, height - 18, "text-anchor=\"middle\" fill=\"#323f4b\"", xml_text(text.x_label));
  svg += "<text transform=\"translate(22 " + fixed((top + floor) / 2) +
         ") rotate(-90)\" text-anchor=\"middle\" fill=\"#323f4b\">" + xml_text(text.y_label) + "</text>\n";
  return svg;
}

/// The earlier of several curves are wider, so that they can be seen under later ones that coincide with them.
std::string stroke_of(std::size_t index, std::size_t count) {
  return "stroke=\"" + std::string(colours[index % colours.size()]) + "\" stroke-width=\"" +
         fixed(1.8 + 2.2 * static_cast<double>(count - 1 - index)) + "\"";
}

/// Of all values within a pixel or so the first, the last and the extremes are enough.
std::string draw_curve(const Axes& axes, const Series& series, std::string_view stroke) {
  constexpr std::size_t columns = 700;
  const std::size_t stride = std::max<std::size_t>(1, series.values.size() / columns);
  std::string points;
  const auto add = [&](std::size_t i) {
    const double value = series.values[i];
    if (!(value > 0) || !std::isfinite(value)) return;
    points += fixed(axes.x(static_cast<double>(i))) + "," + fixed(axes.y(std::log10(value))) + " ";
  };
  for (std::size_t begin = 0; begin < series.values.size(); begin += stride) {
    const std::size_t end = std::min(begin + stride, series.values.size());
    const auto first = series.values.begin();
    const auto [low, high] =
        std::minmax_element(first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end));
    std::array<std::size_t, 4> kept{begin, static_cast<std::size_t>(low - first),
                                    static_cast<std::size_t>(high - first), end - 1};
    std::sort(kept.begin(), kept.end());
    const auto* const distinct = std::unique(kept.begin(), kept.end());
    for (const auto* i = kept.begin(); i != distinct; ++i) add(*i);
  }
  return "<polyline fill=\"none\" " + std::string(stroke) + " stroke-linejoin=\"round\" points=\"" + points + "\"/>\n";
}

std::string draw_legend(std::span<const Series> series) {
  std::size_t longest = 0;
  for (const Series& one : series) longest = std::max(longest, one.name.size());
  const double box = 52 + 7.2 * static_cast<double>(longest);
  const double x = width - right - box - 8;
  std::string svg = "<rect x=\"" + fixed(x) + "\" y=\"" + fixed(top + 8) + "\" width=\"" + fixed(box) + "\" height=\"" +
                    fixed(12 + 20 * static_cast<double>(series.size())) +
                    "\" rx=\"4\" fill=\"#ffffff\" fill-opacity=\"0.9\" stroke=\"#cbd2d9\"/>\n";
  double y = top + 24;
  for (std::size_t i = 0; i < series.size(); ++i, y += 20) {
    svg += line(x + 10, y, x + 34, y, stroke_of(i, series.size()));
    svg += label(x + 42, y + 4, "fill=\"#1f2933\"", xml_text(series[i].name));
  }
  return svg;
}

}  // namespace

std::string convergence_svg(std::span<const Series> series, const PlotText& text, double tolerance) {
  const Axes axes = fit(series, tolerance);
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 480\" width=\"820\" height=\"480\" "
      "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n"
      "<rect width=\"820\" height=\"480\" fill=\"#ffffff\"/>\n";
  svg += draw_axes(axes, text);
  if (tolerance > 0) {
    const double y = axes.y(std::log10(tolerance));
    svg += line(left, y, width - right, y, "stroke=\"#9aa5b1\" stroke-dasharray=\"6 4\"");
    svg += label(left + 8, y - 6, "fill=\"#7b8794\"", "tolerance");
  }
  for (std::size_t i = 0; i < series.size(); ++i) svg += draw_curve(axes, series[i], stroke_of(i, series.size()));
  svg += draw_legend(series);
  return svg + "</svg>\n";
}

}  // namespace conjugate_gradient
