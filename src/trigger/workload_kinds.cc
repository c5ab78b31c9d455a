#include "trigger/workload_kinds.h"

#include <algorithm>
#include <array>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// The form of the names of its pods.
enum class PodNames {
  kOther,
  kTemplated,  // llm-6d4cf56db6-x7k2p
  kOrdinal,    // llm-0
  kRandom,     // llm-x7k2p
};

struct KindRow {
  absl::string_view kind;
  absl::string_view short_name;  // kubectl's; empty: none
  PodNames names = PodNames::kOther;
};
constexpr std::array<KindRow, 12> kKinds = {{
    {"Deployment", "deploy", PodNames::kTemplated},
    {"StatefulSet", "sts", PodNames::kOrdinal},
    {"DaemonSet", "ds", PodNames::kRandom},
    {"ReplicaSet", "rs", PodNames::kRandom},
    {"Job", "", PodNames::kRandom},
    {"JobSet", ""},
    {"LeaderWorkerSet", "lws", PodNames::kOrdinal},
    {"Rollout", "ro", PodNames::kTemplated},
    {"InferenceService", "isvc"},
    {"RayCluster", ""},
    {"RayService", ""},
    {"Pod", "po"},
}};

// Returns nullptr for any other kind.
const KindRow* RowOf(absl::string_view kind) {
  const auto row = std::ranges::find_if(
      kKinds, [kind](const KindRow& row) { return absl::EqualsIgnoreCase(row.kind, kind); });
  return row == kKinds.end() ? nullptr : &*row;
}

}  // namespace

const std::vector<absl::string_view>& WorkloadKinds() {
  static const auto& kinds = *new std::vector<absl::string_view>([] {
    std::vector<absl::string_view> kinds;
    for (const KindRow& row : kKinds) kinds.push_back(row.kind);
    return kinds;
  }());
  return kinds;
}

bool IsWorkloadKind(absl::string_view kind) { return RowOf(kind) != nullptr; }

bool HaveSamePodNames(absl::string_view kind, absl::string_view other) {
  const KindRow* const row = RowOf(kind);
  const KindRow* const of_other = RowOf(other);
  return row != nullptr && of_other != nullptr && row != of_other &&
         row->names != PodNames::kOther && row->names == of_other->names;
}

absl::string_view KindForWord(absl::string_view word) {
  const absl::string_view resource = word.substr(0, word.find('.'));
  const bool has_group = resource.size() < word.size();
  for (const KindRow& row : kKinds) {
    const bool is_short =
        !row.short_name.empty() && absl::EqualsIgnoreCase(resource, row.short_name);
    const bool is_plural = absl::EqualsIgnoreCase(resource, absl::StrCat(row.kind, "s"));
    if (is_short || is_plural) return row.kind;
    if (has_group && absl::EqualsIgnoreCase(resource, row.kind)) return row.kind;
  }
  return "";
}

}  // namespace gpuscaler
