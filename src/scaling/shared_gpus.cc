#include "scaling/shared_gpus.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/number_text.h"
#include "scaling/scope.h"

namespace gpuscaler {
namespace {

constexpr size_t kGpusNamed = 8;

bool IsShared(const GpuSample& gpu) {
  return std::ranges::any_of(gpu.holders, [&gpu](const GpuHolder& holder) {
    return !holder.is_possible && holder.pod != gpu.holders.front().pod;
  });
}

absl::string_view Text(SharedBy shared_by) {
  switch (shared_by) {
    case SharedBy::kParts:
      return "by the parts that they requested (gpu-fraction, gpu-memory)";
    case SharedBy::kProcesses:
      return "by their processes";
    case SharedBy::kEqually:
      break;
  }
  return "equally";
}

}  // namespace

std::vector<std::string> SharedGpuNotes(const FleetHistory& fleet,
                                        const std::vector<Contribution>& contributions) {
  std::set<absl::string_view> counted;
  std::map<SharedBy, std::vector<std::string>> shared;
  for (const NodeState& state : fleet.nodes) {
    const std::vector<GpuSample>& gpus = state.history->Newest().gpus;
    for (size_t i = 0; i < gpus.size(); ++i) {
      if (!IsShared(gpus[i])) continue;
      if (counted.empty()) {
        for (const Contribution& contribution : contributions) {
          if (contribution.state == Contribution::State::kGone) continue;
          counted.insert(contribution.gpus.begin(), contribution.gpus.end());
        }
      }
      if (!counted.contains(gpus[i].uuid)) continue;
      shared[gpus[i].shared_by].push_back(
          NameOf(state.node, state.history->runs.back().layout()->gpus[i]));
    }
  }
  std::vector<std::string> notes;
  for (const auto& [shared_by, names] : shared) {
    notes.push_back(absl::StrCat("pods divide the load of shared GPUs ", Text(shared_by), ": ",
                                 ListText(names, kGpusNamed)));
  }
  return notes;
}

}  // namespace gpuscaler
