#include "web/marks.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/number_text.h"

namespace gpuscaler {
namespace {

std::string RolloutText(int replaced, int replicas) {
  if (replaced >= replicas) {
    return replicas == 1 ? "the replica was replaced"
                         : absl::StrCat("all ", CountText(replicas, "replica"), " were replaced");
  }
  return absl::StrCat(replaced, " of ", CountText(replicas, "replica"),
                      replaced == 1 ? " was replaced" : " were replaced");
}

std::string ReasonOfGap(const HistoryPoint& point, absl::Time started_at) {
  if (point.code.has_value()) return "no reading";
  return point.at < started_at ? "scaler started" : "not requested";
}

}  // namespace

absl::string_view Name(HistoryMark::Kind kind) {
  switch (kind) {
    case HistoryMark::Kind::kScale:
      return "scale";
    case HistoryMark::Kind::kRollout:
      return "rollout";
    case HistoryMark::Kind::kGap:
      return "gap";
    case HistoryMark::Kind::kError:
      break;
  }
  return "error";
}

std::vector<HistoryMark> MarksOf(std::span<const HistoryPoint> points) {
  std::vector<HistoryMark> marks;
  std::optional<int> replicas;                // the last known number
  std::optional<absl::StatusCode> last_code;  // the code of the point before
  for (const HistoryPoint& point : points) {
    const auto mark = [&](HistoryMark::Kind kind, std::string text) {
      marks.push_back({.at = point.at, .kind = kind, .text = std::move(text)});
    };
    if (!point.code.has_value() && last_code.has_value()) {
      mark(HistoryMark::Kind::kGap, "no record: no client requested the trigger");
    } else if (point.code.has_value() && *point.code != absl::StatusCode::kOk &&
               point.code != last_code) {
      mark(HistoryMark::Kind::kError,
           absl::StrCat("no value: ", absl::StatusCodeToString(*point.code)));
    }
    last_code = point.code;
    if (!point.replicas.has_value()) continue;
    const int present = static_cast<int>(*point.replicas);
    if (replicas.has_value() && *replicas != present) {
      mark(HistoryMark::Kind::kScale,
           absl::StrCat("from ", *replicas, " to ", CountText(present, "replica")));
    }
    replicas = present;
    const int replaced = static_cast<int>(point.replaced.value_or(0));
    if (replaced > 0) mark(HistoryMark::Kind::kRollout, RolloutText(replaced, present));
  }
  return marks;
}

std::vector<HistoryGap> GapsOf(std::span<const HistoryPoint> points, absl::Time started_at) {
  std::vector<HistoryGap> gaps;
  for (const HistoryPoint& point : points) {
    if (point.value.has_value()) continue;
    std::string because = ReasonOfGap(point, started_at);
    const absl::Time to = point.at + kHistoryStep;
    const bool continues =
        !gaps.empty() && gaps.back().because == because && gaps.back().to == point.at;
    if (continues) {
      gaps.back().to = to;
    } else {
      gaps.push_back({.from = point.at, .to = to, .because = std::move(because)});
    }
  }
  return gaps;
}

}  // namespace gpuscaler
