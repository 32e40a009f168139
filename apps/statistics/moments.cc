#include "statistics/moments.h"

#include <algorithm>
#include <cmath>

namespace statistics {

Moments Moments::of(double value) {
  Moments moments;
  moments.count = 1;
  moments.minimum = moments.maximum = moments.mean = value;
  return moments;
}

Moments Moments::of(std::span<const double> values) {
  if (values.empty()) return {};
  if (values.size() == 1) return std::isnan(values[0]) ? Moments() : of(values[0]);
  const std::size_t half = values.size() / 2;
  return CombineMoments()(of(values.first(half)), of(values.subspan(half)));
}

Moments CombineMoments::operator()(const Moments& a, const Moments& b) const noexcept {
  if (a.count == 0) return b;
  if (b.count == 0) return a;
  const auto na = static_cast<double>(a.count);
  const auto nb = static_cast<double>(b.count);
  const double n = na + nb;
  const double delta = b.mean - a.mean;
  const double step = delta / n;
  const double step2 = step * step;
  Moments both;
  both.count = a.count + b.count;
  both.minimum = std::min(a.minimum, b.minimum);
  both.maximum = std::max(a.maximum, b.maximum);
  both.mean = a.mean + nb * step;
  both.m2 = a.m2 + b.m2 + delta * step * na * nb;
  both.m3 = a.m3 + b.m3 + delta * step2 * na * nb * (na - nb) + 3 * step * (na * b.m2 - nb * a.m2);
  both.m4 = a.m4 + b.m4 + delta * step * step2 * na * nb * (na * na - na * nb + nb * nb) +
            6 * step2 * (na * na * b.m2 + nb * nb * a.m2) + 4 * step * (na * b.m3 - nb * a.m3);
  return both;
}

std::optional<double> variance(const Moments& moments) {
  if (moments.count < 2) return std::nullopt;
  return moments.m2 / static_cast<double>(moments.count - 1);
}

std::optional<double> standard_deviation(const Moments& moments) {
  const std::optional<double> its_variance = variance(moments);
  if (!its_variance) return std::nullopt;
  return std::sqrt(*its_variance);
}

std::optional<double> skewness(const Moments& moments) {
  if (!(moments.m2 > 0)) return std::nullopt;
  return std::sqrt(static_cast<double>(moments.count)) * moments.m3 / (moments.m2 * std::sqrt(moments.m2));
}

std::optional<double> kurtosis(const Moments& moments) {
  if (!(moments.m2 * moments.m2 > 0)) return std::nullopt;
  return static_cast<double>(moments.count) * moments.m4 / (moments.m2 * moments.m2) - 3;
}

}  // namespace statistics
