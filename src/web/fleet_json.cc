#include "web/fleet_json.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/number_text.h"
#include "cost/gpu_time.h"
#include "model/free_gpus.h"
#include "model/unreadable_gpu.h"
#include "scaling/node_view.h"
#include "scaling/pod_replicas.h"
#include "web/web_json.h"

namespace gpuscaler {
namespace {

// Letters of the states in /api/v1/fleet.
constexpr char kBusy = 'b', kHeldAtZero = 'h', kStartingUp = 's', kFree = 'f', kUnreadable = 'u';

// One node, with what its GPUs have in common.
class ShownNode {
 public:
  ShownNode(const NodeState& state, bool by_owner, const StalenessLimits& staleness, absl::Time now)
      : state_(&state), now_(now), why_(WhyStale(state, now, staleness)) {
    if (why_.empty() && by_owner) why_ = WhyOwnersUnknown(state);
    std::set<std::string> divided;
    for (const GpuSample& gpu : snapshot().gpus) {
      if (IsMig(gpu)) divided.insert(gpu.parent_uuid);
    }
    for (const GpuSample& gpu : snapshot().gpus) {
      if (!divided.contains(gpu.uuid)) gpus_.push_back(&gpu);
    }
  }

  const NodeSnapshot& snapshot() const { return state_->history->Newest(); }
  const std::vector<const GpuSample*>& gpus() const { return gpus_; }
  const std::string& name() const { return state_->node; }
  const std::string& why() const { return why_; }
  double age_seconds() const {
    return std::max(0.0, absl::ToDoubleSeconds(now_ - state_->history->NewestAt()));
  }

  // Sizes of the groups of free GPUs that are linked, largest first.
  std::vector<int> FreeGroups() const {
    std::vector<int> sizes;
    if (!why_.empty()) return sizes;
    FreeGpus free;
    free.Add(snapshot());
    for (const FreeGroup& group : free.groups) {
      if (group.gpus > 0) sizes.push_back(group.gpus);
    }
    std::ranges::sort(sizes, std::greater<>());
    return sizes;
  }

  // The driver reports no utilization for some instances. They have that of their GPU.
  std::optional<double> UtilizationOf(const GpuSample& gpu) const {
    if (gpu.utilization_percent || !IsMig(gpu)) return gpu.utilization_percent;
    const auto whole = std::ranges::find(snapshot().gpus, gpu.parent_uuid, &GpuSample::uuid);
    return whole == snapshot().gpus.end() ? std::nullopt : whole->utilization_percent;
  }

  // Null: no pod holds it for certain.
  const Pod* HolderOf(const GpuSample& gpu) const {
    const auto holder =
        std::ranges::find_if(gpu.holders, std::logical_not<>(), &GpuHolder::is_possible);
    if (holder == gpu.holders.end()) return nullptr;
    return &snapshot().pods[static_cast<size_t>(holder->pod)];
  }

  // Returns "shop/web", or "" if no pod holds it for certain.
  std::string OwnerOf(const GpuSample& gpu) const {
    const Pod* const pod = HolderOf(gpu);
    return pod == nullptr ? "" : absl::StrCat(pod->namespace_name, "/", WorkloadName(*pod));
  }

  char StateOf(const GpuSample& gpu) const {
    if (!why_.empty() || IsUnreadable(gpu)) return kUnreadable;
    const Pod* const holder = HolderOf(gpu);
    const Attribution::State attribution = snapshot().attribution.state;
    const bool is_held =
        holder != nullptr || (attribution == Attribution::State::kNone && gpu.in_use);
    if (!is_held) {
      const bool is_known =
          gpu.holders.empty() && attribution != Attribution::State::kUnknown && !gpu.is_in_mig_mode;
      return is_known ? kFree : kUnreadable;
    }
    if (holder != nullptr && IsStarting(*holder, gpu, snapshot().taken_at)) return kStartingUp;
    const std::optional<double> utilization = UtilizationOf(gpu);
    if (!utilization.has_value()) return kUnreadable;
    return *utilization > 0 ? kBusy : kHeldAtZero;
  }

 private:
  const NodeState* state_;
  absl::Time now_;
  std::string why_;
  std::vector<const GpuSample*> gpus_;
};

std::vector<ShownNode> NodesOf(const FleetHistory& fleet, const StalenessLimits& staleness,
                               absl::Time now) {
  std::vector<ShownNode> nodes;
  nodes.reserve(fleet.nodes.size());
  for (const NodeState& state : fleet.nodes) {
    nodes.emplace_back(state, fleet.queries_kubelets, staleness, now);
  }
  std::ranges::sort(nodes, {}, &ShownNode::name);
  return nodes;
}

std::string IndexOf(const GpuSample& gpu) {
  return gpu.gpu_instance ? absl::StrCat(gpu.index, "-", *gpu.gpu_instance)
                          : absl::StrCat(gpu.index);
}

std::string VendorOf(const GpuSample& gpu) {
  if (absl::StrContains(gpu.name, "AMD") || absl::StrContains(gpu.name, "Instinct")) return "AMD";
  const bool has_nvidias_uuid =
      absl::StartsWith(gpu.uuid, "GPU-") || absl::StartsWith(gpu.uuid, "MIG-");
  return has_nvidias_uuid || absl::StartsWith(gpu.name, "NVIDIA") ? "NVIDIA" : "";
}

// Texts that are written once, and then referred to by number.
class TextTable {
 public:
  size_t Number(const std::string& text) {
    const auto [entry, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return entry->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, size_t> numbers_;
  std::vector<std::string> texts_;
};

void AppendTexts(const std::vector<std::string>& texts, std::string& out) {
  out += '[';
  for (const std::string& text : texts) {
    if (out.back() != '[') out += ',';
    AppendJsonString(text, out);
  }
  out += ']';
}

// One of the arrays of "gpu".
class Column {
 public:
  void AddNumber(size_t number) { absl::StrAppend(&text_, text_.empty() ? "" : ",", number); }
  void AddPercent(const std::optional<double>& percent) {
    absl::StrAppend(&text_, text_.empty() ? "" : ",");
    if (percent.has_value() && std::isfinite(*percent)) {
      absl::StrAppend(&text_, std::llround(std::clamp(*percent, 0.0, 100.0)));
    } else {
      text_ += "null";
    }
  }
  // The text has neither quotation marks nor backslashes.
  void AddWord(const std::string& word) {
    absl::StrAppend(&text_, text_.empty() ? "" : ",", "\"", word, "\"");
  }
  std::string Json() const { return absl::StrCat("[", text_, "]"); }

 private:
  std::string text_;
};

void AppendNode(const ShownNode& node, std::string& out) {
  const auto free = std::ranges::count_if(
      node.gpus(), [&](const GpuSample* gpu) { return node.StateOf(*gpu) == kFree; });
  out += "{\"name\":";
  AppendJsonString(node.name(), out);
  absl::StrAppend(&out, ",\"age_seconds\":", NumberText(node.age_seconds()), ",\"why\":");
  AppendJsonString(node.why(), out);
  absl::StrAppend(&out, ",\"gpus\":", node.gpus().size(), ",\"free\":", free, ",\"free_groups\":[",
                  absl::StrJoin(node.FreeGroups(), ","), "]}");
}

// Returns the first reason why a reading is missing, or "".
std::string GapOf(const GpuSample& gpu) {
  const auto gap = std::ranges::find(gpu.gaps, GpuGap::Reason::kFailed, &GpuGap::reason);
  return gap == gpu.gaps.end() ? "" : absl::StrCat(Name(gap->field), ": ", Why(*gap));
}

WebJson GpuDetails(const ShownNode& node, const GpuSample& gpu) {
  const auto bytes = [](const std::optional<int64_t>& number) {
    return number.has_value() ? WebJson(*number) : WebJson(nullptr);
  };
  WebJson pods = WebJson::array();
  for (const GpuHolder& holder : gpu.holders) {
    if (holder.is_possible) continue;
    const Pod& pod = node.snapshot().pods[static_cast<size_t>(holder.pod)];
    pods.push_back(absl::StrCat(pod.namespace_name, "/", pod.name));
  }
  const bool is_held = !pods.empty() || gpu.in_use;
  return {{"index", IndexOf(gpu)},
          {"uuid", gpu.uuid},
          {"model", gpu.name},
          {"pods", std::move(pods)},
          {"owner", node.OwnerOf(gpu)},
          {"state", std::string(1, node.StateOf(gpu))},
          {"utilization", DecimalJson(node.UtilizationOf(gpu))},
          {"memory_used", bytes(gpu.memory_used_bytes)},
          {"memory_total", bytes(gpu.memory_total_bytes)},
          {"power", DecimalJson(gpu.power_watts)},
          {"temperature", DecimalJson(gpu.temperature_celsius)},
          {"since", is_held ? TimeJson(gpu.held_since) : WebJson(nullptr)},
          {"gap", GapOf(gpu)}};
}

}  // namespace

std::string FleetJson(const FleetHistory& fleet, const StalenessLimits& staleness, absl::Time now,
                      const std::string& instance) {
  TextTable models, vendors, owners;
  owners.Number("");
  Column model, vendor, owner, utilization, memory, index;
  std::string states;
  std::string out = absl::StrCat("{\"now\":", TimeJson(now).dump(), ",\"instance\":");
  AppendJsonString(instance, out);
  std::string nodes;
  for (const ShownNode& node : NodesOf(fleet, staleness, now)) {
    if (!nodes.empty()) nodes += ',';
    AppendNode(node, nodes);
    for (const GpuSample* const gpu : node.gpus()) {
      const bool is_stale = !node.why().empty();
      model.AddNumber(models.Number(gpu->name));
      vendor.AddNumber(vendors.Number(VendorOf(*gpu)));
      owner.AddNumber(owners.Number(node.OwnerOf(*gpu)));
      states += node.StateOf(*gpu);
      utilization.AddPercent(is_stale ? std::nullopt : node.UtilizationOf(*gpu));
      memory.AddPercent(is_stale ? std::nullopt : MemoryUsedPercent(*gpu));
      index.AddWord(IndexOf(*gpu));
    }
  }
  out += ",\"models\":";
  AppendTexts(models.texts(), out);
  out += ",\"vendors\":";
  AppendTexts(vendors.texts(), out);
  out += ",\"owners\":";
  AppendTexts(owners.texts(), out);
  absl::StrAppend(&out, ",\"nodes\":[", nodes, "],\"gpu\":{\"model\":", model.Json(),
                  ",\"vendor\":", vendor.Json(), ",\"owner\":", owner.Json());
  absl::StrAppend(&out, ",\"state\":\"", states, "\",\"utilization\":", utilization.Json(),
                  ",\"memory\":", memory.Json(), ",\"index\":", index.Json(), "}}");
  return out;
}

absl::StatusOr<std::string> NodeJson(const FleetHistory& fleet, const StalenessLimits& staleness,
                                     absl::Time now, const std::string& node) {
  const auto state = std::ranges::find(fleet.nodes, node, &NodeState::node);
  if (state == fleet.nodes.end()) {
    return absl::NotFoundError(absl::StrCat("there is no node ", node));
  }
  const ShownNode shown(*state, fleet.queries_kubelets, staleness, now);
  std::string out = absl::StrCat("{\"now\":", TimeJson(now).dump(), ",\"node\":");
  AppendNode(shown, out);
  WebJson gpus = WebJson::array();
  for (const GpuSample* const gpu : shown.gpus()) gpus.push_back(GpuDetails(shown, *gpu));
  absl::StrAppend(&out, ",\"gpus\":", WebJsonText(gpus), "}");
  return out;
}

int CountShownGpus(const FleetHistory& fleet) {
  size_t count = 0;
  for (const NodeState& state : fleet.nodes) {
    std::set<absl::string_view> divided;
    const std::vector<GpuSample>& gpus = state.history->Newest().gpus;
    for (const GpuSample& gpu : gpus) {
      if (IsMig(gpu)) divided.insert(gpu.parent_uuid);
    }
    count += static_cast<size_t>(std::ranges::count_if(
        gpus, [&](const GpuSample& gpu) { return !divided.contains(gpu.uuid); }));
  }
  return static_cast<int>(count);
}

std::string WhyPartial(const FleetHistory& fleet, const StalenessLimits& staleness,
                       absl::Time now) {
  std::vector<std::string> reasons;
  if (fleet.none_listed) reasons.emplace_back("no agent is listed");
  if (fleet.unreached_count > 0) {
    const size_t unnamed = fleet.unreached_count - fleet.unreached.size();
    reasons.push_back(absl::StrCat("never reported: ",
                                   ListText(fleet.unreached, fleet.unreached.size(), unnamed)));
  }
  std::vector<std::string> stale;
  for (const ShownNode& node : NodesOf(fleet, staleness, now)) {
    if (!node.why().empty()) stale.push_back(node.name());
  }
  if (!stale.empty()) {
    reasons.push_back(absl::StrCat("not known now: ", ListText(stale, kUnreachedNamed)));
  }
  return absl::StrJoin(reasons, "; ");
}

}  // namespace gpuscaler
