#include "app/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {
namespace {

constexpr std::array<absl::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<absl::string_view, 8> kAscii = {"_", ".", "-", "=", "+", "*", "#", "@"};

SparklinePoint Largest(std::span<const SparklinePoint> points) {
  SparklinePoint largest;
  for (const SparklinePoint& point : points) {
    if (point && (!largest || *point > *largest)) largest = point;
  }
  return largest;
}

absl::string_view Glyph(const SparklinePoint& point, double top, bool ascii) {
  if (!point) return " ";
  const auto& glyphs = ascii ? kAscii : kBlocks;
  const double part = top > 0 ? std::clamp(*point / top, 0.0, 1.0) : 0.0;
  return glyphs[static_cast<size_t>(std::lround(part * (glyphs.size() - 1)))];
}

}  // namespace

std::string Sparkline(std::span<const SparklinePoint> points, size_t columns, bool ascii,
                      double top) {
  const size_t used = std::min(columns, points.size());
  std::string line(columns - used, ' ');
  for (size_t i = 0; i < used; ++i) {
    const size_t begin = i * points.size() / used;
    const size_t end = (i + 1) * points.size() / used;
    absl::StrAppend(&line, Glyph(Largest(points.subspan(begin, end - begin)), top, ascii));
  }
  return line;
}

std::string Sparkline(std::span<const SparklinePoint> points, size_t columns, bool ascii) {
  return Sparkline(points, columns, ascii, Largest(points).value_or(0));
}

}  // namespace gpuscaler
