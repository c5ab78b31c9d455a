#include "engine/latency_demand.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/str_format.h"

namespace gpuscaler {
namespace {

constexpr size_t kBinsOfMinute = 6;  // kMinute in kDemandBin
constexpr size_t kInstants = 60;     // 10 minutes
constexpr size_t kBins = kInstants + kBinsOfMinute;
constexpr absl::Duration kMinute = absl::Minutes(1);

constexpr double kLateShare = 0.05;
constexpr double kFewestFirstTokens = 20;
constexpr absl::Duration kCongestedFor = absl::Seconds(30);
constexpr int kMaxSteps = 3;
constexpr double kShrunk = 0.9;
constexpr double kTolerance = 1.101;  // the HPA's, plus rounding errors

// The sum over all engines in the minute before one instant.
struct Minute {
  int engines = 0;
  bool has_newer = false;  // an engine joined within the minute
  double first_tokens = 0;
  double late = 0;
  absl::Duration congested;  // the largest of one engine
  double waiting = 0;        // at its end
  double waited = 0;         // at its begin

  bool IsLate() const {
    return engines > 0 && !has_newer && first_tokens >= kFewestFirstTokens &&
           late > kLateShare * first_tokens && congested >= kCongestedFor &&
           waiting >= kShrunk * waited;
  }
};

double OneMore(double replicas) { return std::max(replicas + 1, kTolerance * replicas); }

// Instant i is `end` minus (kInstants - 1 - i) bins.
void AddEngine(const EngineDemand& sums, absl::Time end, std::array<Minute, kInstants>& minutes) {
  std::array<FirstTokenBin, kBins> bins{};
  const absl::Time begin = end - static_cast<int64_t>(kBins) * kDemandBin;
  for (const FirstTokenBin& bin : sums.first_tokens) {
    if (bin.begin < begin || bin.begin >= end) continue;
    bins[static_cast<size_t>((bin.begin - begin) / kDemandBin)] = bin;
  }
  FirstTokenBin minute;
  const auto add = [&minute](const FirstTokenBin& bin, int times) {
    minute.first_tokens += times * bin.first_tokens;
    minute.late += times * bin.late;
    minute.congested += times * bin.congested;
  };
  for (size_t i = 0; i < kBinsOfMinute; ++i) add(bins[i], 1);
  for (size_t i = 0; i < kInstants; ++i) {
    const FirstTokenBin& before = bins[i];
    const FirstTokenBin& newest = bins[i + kBinsOfMinute];
    add(newest, 1);
    add(before, -1);
    const absl::Time at = end - static_cast<int64_t>(kInstants - 1 - i) * kDemandBin;
    if (sums.first_at >= at || sums.newest_at < at - kPresentAfterReading) continue;
    Minute& all = minutes[i];
    ++all.engines;
    all.has_newer |= sums.first_at > at - kMinute;
    all.first_tokens += minute.first_tokens;
    all.late += minute.late;
    all.waiting += newest.waiting;
    all.waited += before.waiting;
    all.congested = std::max(all.congested, minute.congested);
  }
}

}  // namespace

std::optional<LatencyDemand> LatencyDemandOf(std::span<const EngineDemandInput> engines,
                                             absl::Time now) {
  if (now == absl::InfinitePast()) return std::nullopt;
  const absl::Time end = BeginOfBin(now);
  std::array<Minute, kInstants> minutes{};
  for (const EngineDemandInput& engine : engines) {
    if (engine.sums == nullptr || engine.is_gateway || engine.is_frozen) continue;
    AddEngine(*engine.sums, end, minutes);
  }
  std::optional<LatencyDemand> ask;
  double most = 0;
  for (size_t i = 0; i < kInstants; ++i) {
    const Minute& minute = minutes[i];
    if (!minute.IsLate()) continue;
    if (!ask.has_value()) {
      ask.emplace();
      most = minute.engines;
      for (int step = 0; step < kMaxSteps; ++step) most = OneMore(most);
    }
    ask->replicas = std::max(ask->replicas, std::min(OneMore(minute.engines), most));
    ask->late_share = minute.late / minute.first_tokens;
    ask->age = now - (end - static_cast<int64_t>(kInstants - 1 - i) * kDemandBin);
  }
  return ask;
}

std::string LatencyText(const LatencyDemand& ask) {
  return absl::StrFormat(
      "latency: %.3g replicas: %.0f %% of a minute's first tokens were later than ttftSloMs while "
      "requests waited, %.0fs ago",
      ask.replicas, 100 * ask.late_share, absl::ToDoubleSeconds(ask.age));
}

}  // namespace gpuscaler
