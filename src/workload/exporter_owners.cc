#include "workload/exporter_owners.h"

#include <algorithm>

#include "base/log.h"
#include "workload/attribution.h"
#include "workload/holding.h"
#include "workload/owner_names.h"

namespace gpuscaler {
namespace {

constexpr char kNamesNone[] =
    "the exporter's page names no pod, though GPUs are in use: it gets no answer from the kubelet, "
    "or does not query it (dcgm-exporter without --kubernetes)";
constexpr char kNamesNoMore[] = "the exporter's page names no pod any more, which may not last";

}  // namespace

void ExporterOwners::Annotate(NodeSnapshot& snapshot) {
  for (Pod& pod : snapshot.pods.Own()) {
    pod.owners = OwnersByName(pod.name);
    pod.owners_from = Pod::OwnersFrom::kName;
  }
  snapshot.attribution = Evaluate(snapshot);
  const bool is_known = snapshot.attribution.state == Attribution::State::kKnown;
  if (!is_known && snapshot.attribution != last_) {
    LogWarn("attribution_unknown", {{"why", snapshot.attribution.why}});
  }
  if (is_known && last_.state != Attribution::State::kKnown) LogInfo("attribution_known");
  last_ = snapshot.attribution;
}

Attribution ExporterOwners::Evaluate(const NodeSnapshot& snapshot) {
  if (!snapshot.pods.empty()) {
    named_ = true;
    none_since_ = absl::InfiniteFuture();
    return {.state = Attribution::State::kKnown};
  }
  const absl::Time now = snapshot.taken_at;
  none_since_ = std::min(none_since_, now);
  const bool in_use = std::ranges::any_of(
      snapshot.gpus, [](const GpuSample& gpu) { return InUse(gpu).value_or(false); });
  if (in_use) return {.state = Attribution::State::kUnknown, .why = kNamesNone};
  if (named_ && (now == none_since_ || now - none_since_ < kEmptyListConfirmation)) {
    return {.state = Attribution::State::kUnknown, .why = kNamesNoMore};
  }
  named_ = false;
  return {.state = Attribution::State::kKnown};
}

}  // namespace gpuscaler
