#include "engine/capacity_records.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/engine_reading.h"
#include "engine/service_record.h"
#include "model/served_models.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kUnchangedRecordInterval = absl::Minutes(1);

// Copies the pod's owners and GPU model from the snapshot. If the snapshot lacks the pod, or no GPU
// has it as a holder, the former value stays.
void UpdatePodAndGpu(const EngineAddress& engine_address, const NodeSnapshot& node,
                     SignalSeries& series) {
  const auto pod = std::ranges::find_if(node.pods, [&](const Pod& each) {
    return each.name == engine_address.pod && each.namespace_name == engine_address.namespace_name;
  });
  if (pod == node.pods.end()) return;
  const Pod known_pod{.namespace_name = pod->namespace_name,
                      .name = pod->name,
                      .owners = pod->owners,
                      .owners_from = pod->owners_from};
  if (series.pod_with_owners == nullptr || *series.pod_with_owners != known_pod) {
    series.pod_with_owners = std::make_shared<const Pod>(known_pod);
  }
  const auto index = static_cast<int>(pod - node.pods.begin());
  for (const GpuSample& gpu : node.gpus) {
    if (std::ranges::find(gpu.holders, index, &GpuHolder::pod) == gpu.holders.end()) continue;
    series.gpu_model = gpu.name;
    return;
  }
}

bool IsOfSameEngine(const SignalSeries& a, const SignalSeries& b) {
  return a.pod == b.pod && a.namespace_name == b.namespace_name && a.address == b.address &&
         a.port == b.port;
}

}  // namespace

std::shared_ptr<const SignalSeries> CapacityRecordOf(const SignalSeries& engine,
                                                     absl::Time read_at) {
  EngineDemand demand;
  if (engine.demand != nullptr) demand = ServiceRecordOf(*engine.demand);
  EngineBatch batch = *engine.batch;
  if (!ShowsService(demand) && !batch.learnt_limit.has_value()) return nullptr;
  demand.first_at = absl::InfinitePast();
  demand.newest_at = read_at;
  batch.readings.clear();
  auto record = std::make_shared<SignalSeries>(engine);
  record->points.clear();
  record->demand = std::make_shared<const EngineDemand>(std::move(demand));
  record->batch = std::make_shared<const EngineBatch>(std::move(batch));
  return record;
}

std::shared_ptr<const SignalSeries> NodeCapacityRecords::AddReading(
    const EngineAddress& engine_address, const EngineUpdate& update, const NodeSnapshot& node) {
  if (!update.reading.ok() || update.engine.empty()) return nullptr;
  std::optional<ModelReading> sum = ReadingOf(*update.reading, "");
  if (!sum.has_value()) return nullptr;
  Present& engine = present_[engine_address];
  SignalSeries& series = engine.series;
  std::string models = ModelsOf(*update.reading);
  const bool is_other_engine = !series.engine.empty() && series.engine != update.engine;
  if (is_other_engine || AreOtherModels(models, series.models)) engine = {};
  if (!models.empty()) series.models = std::move(models);
  series.engine = std::string(update.engine);
  series.name = EngineName(engine_address, update.engine);
  series.namespace_name = engine_address.namespace_name;
  series.pod = engine_address.pod;
  series.address = engine_address.address;
  series.port = engine_address.port;
  UpdatePodAndGpu(engine_address, node, series);
  series.first_read_at = std::min(series.first_read_at, update.at);
  engine.read_at = update.at;
  // Records have no histograms, and tracking them takes 0.6 MB per engine.
  for (const ModelHistogram histogram : kModelHistograms) ((*sum).*histogram).reset();
  engine.timeline.AddReading(update.at, *std::move(sum));
  engine.timeline.Forget(update.at);
  if (update.at - engine.recorded_at < kDemandBin) return nullptr;
  std::shared_ptr<const SignalSeries> record = RecordOf(engine);
  if (record == nullptr) return nullptr;
  const bool has_changed =
      series.demand == nullptr || record->demand->service != series.demand->service ||
      record->demand->bins != series.demand->bins || *record->batch != *series.batch;
  if (!has_changed && update.at - engine.recorded_at < kUnchangedRecordInterval) return nullptr;
  engine.recorded_at = update.at;
  series = *record;
  return record;
}

std::shared_ptr<const SignalSeries> NodeCapacityRecords::RecordOf(const Present& engine) {
  SignalSeries series = engine.series;
  series.demand = nullptr;
  if (auto demand = engine.timeline.Demand({})) {
    series.demand = std::make_shared<const EngineDemand>(*std::move(demand));
  }
  series.batch = std::make_shared<const EngineBatch>(engine.timeline.Batch({}, engine.read_at));
  return CapacityRecordOf(series, engine.read_at);
}

void NodeCapacityRecords::SetEngines(const std::set<std::string>& namespaces,
                                     const std::set<EngineAddress>& engines) {
  std::erase_if(present_, [&](const auto& each) {
    const auto& [engine_address, engine] = each;
    if (!namespaces.contains(engine_address.namespace_name) || engines.contains(engine_address))
      return false;
    const auto record = RecordOf(engine);
    if (record == nullptr || record->pod_with_owners == nullptr) return true;
    // An engine that departs several times has one record.
    std::erase_if(departed_, [&](const auto& each) { return IsOfSameEngine(*each, *record); });
    departed_.push_back(record);
    return true;
  });
  if (departed_.size() > kMaxCapacityRecords) {
    departed_.erase(departed_.begin(),
                    departed_.end() - static_cast<std::ptrdiff_t>(kMaxCapacityRecords));
  }
}

CapacityRecords NodeCapacityRecords::DepartedRecords(absl::Time now) {
  const auto is_old = [now](absl::Time read_at) { return now - read_at > kCapacityRecordsKept; };
  std::erase_if(departed_, [&](const auto& record) { return is_old(record->demand->newest_at); });
  std::erase_if(present_, [&](const auto& each) { return is_old(each.second.read_at); });
  return departed_;
}

}  // namespace gpuscaler
