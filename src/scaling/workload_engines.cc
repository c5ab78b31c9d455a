#include "scaling/workload_engines.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "model/served_models.h"

namespace gpuscaler {
namespace {

// The alphabet of random suffixes and of template hashes (k8s.io/apimachinery util/rand).
constexpr absl::string_view kSuffixAlphabet = "bcdfghjklmnpqrstvwxz2456789";
constexpr size_t kSuffixSize = 5;
constexpr size_t kShortestHash = 8;
constexpr size_t kLongestHash = 10;

bool IsSuffix(absl::string_view text) {
  return text.find_first_not_of(kSuffixAlphabet) == absl::string_view::npos;
}

absl::string_view AfterLastDash(absl::string_view text) {
  const size_t dash = text.rfind('-');
  return dash == absl::string_view::npos ? "" : text.substr(dash + 1);
}

}  // namespace

absl::string_view TemplateOf(absl::string_view pod_name) {
  const absl::string_view suffix = AfterLastDash(pod_name);
  if (suffix.size() != kSuffixSize || !IsSuffix(suffix)) return "";
  const absl::string_view name = pod_name.substr(0, pod_name.size() - kSuffixSize - 1);
  const absl::string_view hash = AfterLastDash(name);
  const bool has_hash =
      hash.size() >= kShortestHash && hash.size() <= kLongestHash && IsSuffix(hash);
  return has_hash ? name : "";
}

WorkloadEngines::WorkloadEngines(const FleetHistory& fleet, std::span<const Replica> replicas,
                                 bool with_models) {
  absl::Time newest = absl::InfinitePast();
  for (const Replica& replica : replicas) {
    if (!replica.present || replica.pods.empty()) continue;
    const Pod& pod = *replica.pods.front();
    const absl::Time since = pod.listed_since.value_or(replica.held_since);
    if (since < newest) continue;
    newest = since;
    newest_template_ = std::string(TemplateOf(pod.name));
    has_pods_ = true;
  }
  if (!with_models) return;
  for (const NodeState& state : fleet.nodes) {
    for (const GpuSample& gpu : state.history->Newest().gpus) models_[gpu.uuid] = gpu.name;
  }
}

std::string WorkloadEngines::ModelOf(const Replica& replica) const {
  for (const std::string& uuid : replica.gpu_uuids) {
    const auto found = models_.find(uuid);
    if (found != models_.end()) return std::string(found->second);
  }
  return "";
}

void WorkloadEngines::AddPresent(const SignalSeries& engine, const Replica* replica) {
  WorkloadEngine added{.series = &engine};
  if (replica != nullptr) {
    added.gpu_model = ModelOf(*replica);
    added.replica = replica->name;
    added.is_of_newest_template =
        replica->pods.empty() || TemplateOf(replica->pods.front()->name) == newest_template_;
  }
  engines_.push_back(std::move(added));
}

void WorkloadEngines::AddDeparted(const SignalSeries& engine) {
  const bool is_newest = engine.pod.empty() || TemplateOf(engine.pod) == newest_template_;
  engines_.push_back({.series = &engine, .is_present = false, .is_of_newest_template = is_newest});
}

void WorkloadEngines::AddRecords(const std::vector<const SignalSeries*>& records) {
  if (records.empty()) return;
  const SignalSeries& last = **std::ranges::max_element(
      records, {}, [](const SignalSeries* engine) { return engine->demand->newest_at; });
  std::vector<std::string> models;
  std::set<std::string> gpu_models;
  for (const WorkloadEngine& engine : engines_) {
    if (!engine.is_present) continue;
    if (!engine.series->models.empty()) models.push_back(engine.series->models);
    gpu_models.insert(engine.gpu_model);
  }
  gpu_models.erase("");
  if (models.empty()) models.push_back(last.models);
  if (gpu_models.empty()) gpu_models.insert(last.gpu_model);
  const std::string newest(has_pods_ ? newest_template_ : TemplateOf(last.pod));
  for (const SignalSeries* engine : records) {
    const bool is_of_others = std::ranges::all_of(
        models, [&](const std::string& each) { return AreOtherModels(engine->models, each); });
    const bool is_on_others = !engine->gpu_model.empty() && !gpu_models.contains(engine->gpu_model);
    if (is_of_others || is_on_others) continue;
    const bool is_newest = engine->pod.empty() || TemplateOf(engine->pod) == newest;
    engines_.push_back({.series = engine,
                        .is_present = false,
                        .is_of_newest_template = is_newest,
                        .gpu_model = engine->gpu_model});
  }
}

// An engine that left ran on the GPU model of the others.
std::vector<WorkloadEngine> WorkloadEngines::Take() && {
  const auto present = std::ranges::find_if(engines_, &WorkloadEngine::is_present);
  if (present == engines_.end()) return std::move(engines_);
  const std::string model = present->gpu_model;
  for (WorkloadEngine& engine : engines_) {
    if (!engine.is_present && engine.gpu_model.empty()) engine.gpu_model = model;
  }
  return std::move(engines_);
}

std::optional<double> SharedLimit(std::span<const WorkloadEngine> engines) {
  std::optional<double> newest;
  std::optional<double> last;
  absl::Time last_at = absl::InfinitePast();
  for (const WorkloadEngine& engine : engines) {
    if (engine.series->batch == nullptr) continue;
    const EngineBatch& batch = *engine.series->batch;
    const std::optional<double>& learnt = batch.learnt_limit;
    if (!learnt.has_value() || batch.reported_limit > 0.0) continue;
    if (engine.is_present && engine.is_of_newest_template) {
      newest = std::max(newest.value_or(0), *learnt);
    }
    if (!last.has_value() || batch.learnt_at > last_at) {
      last = learnt;
      last_at = batch.learnt_at;
    }
  }
  return newest.has_value() ? newest : last;
}

std::optional<double> LimitOf(const Trigger& trigger, const SignalSeries& engine,
                              std::optional<double> shared_limit) {
  if (engine.batch != nullptr && engine.batch->reported_limit > 0.0) {
    return engine.batch->reported_limit;
  }
  return trigger.max_concurrency.has_value() ? trigger.max_concurrency : shared_limit;
}

bool SharesLimit(const Trigger& trigger, const SignalSeries& engine) {
  return engine.batch != nullptr && !(engine.batch->reported_limit > 0.0) &&
         !trigger.max_concurrency.has_value() &&
         engine.batch->readings.size() == engine.points.size();
}

}  // namespace gpuscaler
