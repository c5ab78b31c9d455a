#include "engine/learnt_engines.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "demand/kept_service.h"
#include "engine/engine_reading.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kRecordAgainAfter = absl::Minutes(1);

constexpr size_t kLongestModels = 256;  // all names together

std::string ModelsOf(const EngineReading& reading) {
  std::string models = absl::StrJoin(
      reading.models, ",", [](std::string* out, const auto& model) { out->append(model.model); });
  models.resize(std::min(models.size(), kLongestModels));
  return models;
}

// The pod may not be attributed yet. Its last known owners and GPU stand.
void SetPod(const EnginePlace& place, const NodeSnapshot& node, SignalSeries& series) {
  const auto pod = std::ranges::find_if(node.pods, [&](const Pod& each) {
    return each.name == place.pod && each.namespace_name == place.namespace_name;
  });
  if (pod == node.pods.end()) return;
  const Pod its{.namespace_name = pod->namespace_name,
                .name = pod->name,
                .owners = pod->owners,
                .owners_from = pod->owners_from};
  if (series.pod_with_owners == nullptr || *series.pod_with_owners != its) {
    series.pod_with_owners = std::make_shared<const Pod>(its);
  }
  const auto index = static_cast<int>(pod - node.pods.begin());
  for (const GpuSample& gpu : node.gpus) {
    if (std::ranges::find(gpu.holders, index, &GpuHolder::pod) == gpu.holders.end()) continue;
    series.gpu_model = gpu.name;
    return;
  }
}

bool ShowsAnything(const SignalSeries& record) {
  return ShowsService(*record.demand) || record.batch->learnt_limit.has_value();
}

}  // namespace

std::shared_ptr<const SignalSeries> LearntEngines::Take(const EnginePlace& place,
                                                        const EngineUpdate& update,
                                                        const NodeSnapshot& node) {
  if (!update.reading.ok() || update.engine.empty()) return nullptr;
  std::optional<ModelReading> together = ReadingOf(*update.reading, "");
  if (!together.has_value()) return nullptr;
  Present& engine = present_[place];
  SignalSeries& series = engine.series;
  std::string models = ModelsOf(*update.reading);
  const bool is_other = !series.models.empty() && !models.empty() && series.models != models;
  if (is_other || (!series.engine.empty() && series.engine != update.engine)) engine = {};
  if (!models.empty()) series.models = std::move(models);
  series.engine = std::string(update.engine);
  series.name = EngineName(place, update.engine);
  series.namespace_name = place.namespace_name;
  series.pod = place.pod;
  series.address = place.address;
  series.port = place.port;
  SetPod(place, node, series);
  series.answers_since = std::min(series.answers_since, update.at);
  engine.timeline.Take(update.at, *std::move(together));
  engine.timeline.Forget(update.at);
  if (update.at - engine.recorded_at < kDemandBin) return nullptr;
  const std::shared_ptr<const SignalSeries> record = RecordOf(engine, update.at);
  if (record == nullptr || !ShowsAnything(*record)) return nullptr;
  const bool is_news =
      series.demand == nullptr || record->demand->service != series.demand->service ||
      record->demand->bins != series.demand->bins || *record->batch != *series.batch;
  if (!is_news && update.at - engine.recorded_at < kRecordAgainAfter) return nullptr;
  engine.recorded_at = update.at;
  series = *record;
  return record;
}

std::shared_ptr<const SignalSeries> LearntEngines::RecordOf(const Present& engine, absl::Time at) {
  const std::optional<EngineDemand> demand = engine.timeline.Demand({});
  if (!demand.has_value()) return nullptr;
  EngineBatch batch = engine.timeline.Batch({}, at);
  batch.readings.clear();
  auto record = std::make_shared<SignalSeries>(engine.series);
  record->demand = std::make_shared<const EngineDemand>(KeptService(*demand));
  record->batch = std::make_shared<const EngineBatch>(std::move(batch));
  return record;
}

void LearntEngines::List(const std::vector<std::string>& namespaces,
                         const std::vector<EnginePlace>& places) {
  const std::set<std::string> looked_in(namespaces.begin(), namespaces.end());
  const std::set<EnginePlace> there(places.begin(), places.end());
  std::erase_if(present_, [&](const auto& each) {
    const auto& [place, engine] = each;
    if (!looked_in.contains(place.namespace_name) || there.contains(place)) return false;
    const auto record = RecordOf(engine, absl::InfiniteFuture());
    if (record != nullptr && record->pod_with_owners != nullptr && ShowsAnything(*record)) {
      left_.push_back(record);
    }
    return true;
  });
  if (left_.size() > kMostLearnt) {
    left_.erase(left_.begin(), left_.end() - static_cast<std::ptrdiff_t>(kMostLearnt));
  }
}

RememberedEngines LearntEngines::Left(absl::Time now) {
  const auto is_old = [now](const SignalSeries& record) {
    return record.demand != nullptr && now - record.demand->newest_at > kLearntKept;
  };
  std::erase_if(left_, [&](const auto& record) { return is_old(*record); });
  std::erase_if(present_, [&](const auto& each) { return is_old(each.second.series); });
  return left_;
}

}  // namespace gpuscaler
