#include "engine/capacity_records.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "demand/service_record.h"
#include "engine/engine_reading.h"
#include "model/served_models.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kRecordAgainAfter = absl::Minutes(1);

// If the pod is not attributed yet, its last known owners and GPU stay.
void SetPod(const EngineAddress& place, const NodeSnapshot& node, SignalSeries& series) {
  const auto pod = std::ranges::find_if(node.pods, [&](const Pod& each) {
    return each.name == place.pod && each.namespace_name == place.namespace_name;
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

std::shared_ptr<const SignalSeries> NodeCapacityRecords::Take(const EngineAddress& place,
                                                              const EngineUpdate& update,
                                                              const NodeSnapshot& node) {
  if (!update.reading.ok() || update.engine.empty()) return nullptr;
  std::optional<ModelReading> together = ReadingOf(*update.reading, "");
  if (!together.has_value()) return nullptr;
  Present& engine = present_[place];
  SignalSeries& series = engine.series;
  std::string models = ModelsOf(*update.reading);
  const bool is_other_engine = !series.engine.empty() && series.engine != update.engine;
  if (is_other_engine || AreOtherModels(models, series.models)) engine = {};
  if (!models.empty()) series.models = std::move(models);
  series.engine = std::string(update.engine);
  series.name = EngineName(place, update.engine);
  series.namespace_name = place.namespace_name;
  series.pod = place.pod;
  series.address = place.address;
  series.port = place.port;
  SetPod(place, node, series);
  series.first_read_at = std::min(series.first_read_at, update.at);
  engine.read_at = update.at;
  // Records have no histograms, and tracking them takes 0.6 MB per engine.
  for (const ModelHistogram histogram : kModelHistograms) ((*together).*histogram).reset();
  engine.timeline.Take(update.at, *std::move(together));
  engine.timeline.Forget(update.at);
  if (update.at - engine.recorded_at < kDemandBin) return nullptr;
  std::shared_ptr<const SignalSeries> record = RecordOf(engine, update.at);
  if (record == nullptr) return nullptr;
  const bool has_changed =
      series.demand == nullptr || record->demand->service != series.demand->service ||
      record->demand->bins != series.demand->bins || *record->batch != *series.batch;
  if (!has_changed && update.at - engine.recorded_at < kRecordAgainAfter) return nullptr;
  engine.recorded_at = update.at;
  series = *record;
  return record;
}

std::shared_ptr<const SignalSeries> NodeCapacityRecords::RecordOf(const Present& engine,
                                                                  absl::Time at) {
  SignalSeries shown = engine.series;
  shown.demand = nullptr;
  if (auto demand = engine.timeline.Demand({})) {
    shown.demand = std::make_shared<const EngineDemand>(*std::move(demand));
  }
  shown.batch = std::make_shared<const EngineBatch>(engine.timeline.Batch({}, at));
  return CapacityRecordOf(shown, engine.read_at);
}

void NodeCapacityRecords::List(const std::vector<std::string>& namespaces,
                               const std::vector<EngineAddress>& places) {
  const std::set<std::string> looked_in(namespaces.begin(), namespaces.end());
  const std::set<EngineAddress> present(places.begin(), places.end());
  std::erase_if(present_, [&](const auto& each) {
    const auto& [place, engine] = each;
    if (!looked_in.contains(place.namespace_name) || present.contains(place)) return false;
    const auto record = RecordOf(engine, absl::InfiniteFuture());
    if (record == nullptr || record->pod_with_owners == nullptr) return true;
    // An engine that leaves several times has one record.
    std::erase_if(left_, [&](const auto& each) { return IsOfSameEngine(*each, *record); });
    left_.push_back(record);
    return true;
  });
  if (left_.size() > kMaxCapacityRecords) {
    left_.erase(left_.begin(), left_.end() - static_cast<std::ptrdiff_t>(kMaxCapacityRecords));
  }
}

CapacityRecords NodeCapacityRecords::Left(absl::Time now) {
  const auto is_old = [now](absl::Time read_at) { return now - read_at > kCapacityRecordsKept; };
  std::erase_if(left_, [&](const auto& record) { return is_old(record->demand->newest_at); });
  std::erase_if(present_, [&](const auto& each) { return is_old(each.second.read_at); });
  return left_;
}

}  // namespace gpuscaler
