#include "scaling/standing.h"

#include <algorithm>
#include <vector>

namespace gpuscaler {
namespace {

constexpr double kPreallocatedAbovePercent = 50;
constexpr double kStillWithinPoints = 1;

struct Level {
  absl::Time at;
  double percent;
};

// The samples since the memory was last at 50 % or below.
std::vector<Level> SinceHigh(std::span<const ReplicaSample> samples) {
  std::vector<Level> high;
  for (const ReplicaSample& sample : samples) {
    if (!sample.metric) continue;
    if (*sample.metric <= kPreallocatedAbovePercent) high.clear();
    if (*sample.metric > kPreallocatedAbovePercent) high.push_back({sample.at, *sample.metric});
  }
  return high;
}

// The longest run that ends at `last` and moves by less than a point: its first sample.
size_t StillSince(const std::vector<Level>& levels, size_t last) {
  double lowest = levels[last].percent;
  double highest = lowest;
  size_t first = last;
  while (first > 0) {
    lowest = std::min(lowest, levels[first - 1].percent);
    highest = std::max(highest, levels[first - 1].percent);
    if (highest - lowest >= kStillWithinPoints) break;
    --first;
  }
  return first;
}

}  // namespace

bool MemoryStands(std::span<const ReplicaSample> samples, absl::Duration window) {
  const std::vector<Level> levels = SinceHigh(samples);
  size_t first = 0;
  double lowest = 0;
  double highest = 0;
  for (size_t last = 0; last < levels.size(); ++last) {
    const double percent = levels[last].percent;
    lowest = last == first ? percent : std::min(lowest, percent);
    highest = last == first ? percent : std::max(highest, percent);
    if (highest - lowest >= kStillWithinPoints) {
      first = StillSince(levels, last);
      const auto run = std::ranges::minmax(std::span(levels).subspan(first, last - first + 1), {},
                                           &Level::percent);
      lowest = run.min.percent;
      highest = run.max.percent;
    }
    if (levels[last].at - levels[first].at >= window) return true;
  }
  return false;
}

}  // namespace gpuscaler
