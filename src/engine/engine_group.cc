#include "engine/engine_group.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/capacity_records.h"
#include "engine/service_record.h"
#include "model/served_models.h"
#include "page/http_endpoint.h"

namespace gpuscaler {
namespace {

size_t BytesOf(const EngineAddress& engine_address, const EngineTimeline& engine) {
  return sizeof(engine_address) + engine_address.namespace_name.size() + engine_address.pod.size() +
         engine.Bytes();
}

size_t BytesOf(const SignalSeries& record) {
  return sizeof(record) + record.models.size() + record.pod.size() + sizeof(Pod) +
         sizeof(EngineDemand) + sizeof(RequestBin) + sizeof(EngineBatch);
}

SignalSeries SeriesOf(const EngineAddress& engine_address, const EngineTimeline& engine,
                      const EngineQuery& query, absl::Time now, absl::Duration max_gap) {
  SignalSeries series = engine.Answer(query, now, max_gap);
  series.name = EngineName(engine_address, engine.engine());
  series.namespace_name = engine_address.namespace_name;
  series.pod = engine_address.pod;
  series.address = engine_address.address;
  return series;
}

// Returns true if the query needs the record. A record is about all models of its engine, and
// has the sums behind a demand and the limit that a pressure is measured against.
bool IsAbout(const EngineQuery& query, const SignalSeries& record) {
  const bool takes_it =
      query.demand_window > absl::ZeroDuration() || query.metric == EngineMetric::kPressurePercent;
  return takes_it && (query.model.empty() || query.model == record.models);
}

// Namespace, pod, and name of the series.
using EngineKey = std::tuple<absl::string_view, absl::string_view, absl::string_view>;

EngineKey KeyOf(const SignalSeries& series) {
  return {series.namespace_name, series.pod, series.name};
}

// Removes from a departed engine what its capacity record already has.
void DropRecorded(SignalSeries& left) {
  if (left.demand != nullptr) {
    EngineDemand arrivals = *left.demand;
    RemoveService(arrivals);
    left.demand = std::make_shared<const EngineDemand>(std::move(arrivals));
  }
  if (left.batch == nullptr || !left.batch->learnt_limit.has_value()) return;
  EngineBatch batch = *left.batch;
  batch.learnt_limit.reset();
  batch.learnt_at = absl::InfinitePast();
  left.batch = std::make_shared<const EngineBatch>(std::move(batch));
}

const std::vector<MissingEngine>& List(
    const std::shared_ptr<const std::vector<MissingEngine>>& missing_engines) {
  static const std::vector<MissingEngine> kNone;
  return missing_engines == nullptr ? kNone : *missing_engines;
}

}  // namespace

std::string EngineName(const EngineAddress& engine_address, absl::string_view engine) {
  return absl::StrCat(engine.empty() ? "engine" : engine, " at ",
                      HostAndPort(engine_address.address, engine_address.port));
}

bool EngineGroup::SetEngines(const absl::StatusOr<std::vector<EngineAddress>>& engines,
                             absl::Time at,
                             std::shared_ptr<const std::vector<MissingEngine>> missing_engines,
                             absl::Time kept_since, const CapacityRecords& capacity_records) {
  ForgetDeparted(std::min(kept_since, at - demand_window_));
  const absl::Status before = std::exchange(listed_, engines.status());
  if (!engines.ok()) return UpdateVersion(listed_ != before);
  std::set<EngineAddress> all(engines->begin(), engines->end());
  if (all.size() > kMaxEngines) {
    listed_ = absl::ResourceExhaustedError(
        absl::StrCat(all.size(), " engines are more than ", kMaxEngines));
    all.erase(std::next(all.begin(), kMaxEngines), all.end());
  }
  const absl::Time since = was_whole_ ? at : absl::InfinitePast();
  was_whole_ |= std::ranges::none_of(List(missing_engines), &MissingEngine::is_awaited);
  const bool missing_changed =
      missing_engines_ != missing_engines && List(missing_engines_) != List(missing_engines);
  missing_engines_ = std::move(missing_engines);
  const bool records_changed = capacity_records_ != capacity_records;
  capacity_records_ = capacity_records;
  const bool changed = Replace(all, since, at) || missing_changed || records_changed;
  if (changed) UpdateBytes();
  return UpdateVersion(changed || listed_ != before);
}

bool EngineGroup::UpdateVersion(bool is_new) {
  if (is_new) version_of_all_ = ++update_;
  return is_new;
}

bool EngineGroup::Replace(const std::set<EngineAddress>& engines, absl::Time since, absl::Time at) {
  const size_t gone = std::erase_if(engines_, [&](auto& engine) {
    auto& [engine_address, listed] = engine;
    if (engines.contains(engine_address)) return false;
    if (!listed.engine.engine().empty())
      departed_.push_back({engine_address, at, std::move(listed)});
    return true;
  });
  if (departed_.size() > kMaxEngines) {
    departed_.erase(departed_.begin(), departed_.end() - static_cast<std::ptrdiff_t>(kMaxEngines));
  }
  bool any_new = false;
  for (const EngineAddress& engine_address : engines) {
    const auto [listed, is_new] = engines_.try_emplace(engine_address, Listed{.since = since});
    if (is_new) listed->second.engine.KeepOnly(models_);
    any_new |= is_new;
  }
  return any_new || gone > 0;
}

void EngineGroup::ForgetDeparted(absl::Time kept_since) {
  const size_t gone = std::erase_if(departed_, [&](const DepartedEngine& left) {
    if (left.at > kept_since) return false;
    RecordCapacity(left);
    return true;
  });
  if (gone > 0) UpdateBytes();
}

void EngineGroup::RecordCapacity(const DepartedEngine& left) {
  const bool has_agent = !left.engine_address.pod.empty();
  if (has_agent || demand_window_ == absl::ZeroDuration()) return;
  const EngineQuery query{.metric = EngineMetric::kPressurePercent,
                          .demand_window = demand_window_};
  const SignalSeries engine =
      SeriesOf(left.engine_address, left.listed.engine, query, left.at, absl::ZeroDuration());
  const auto record =
      CapacityRecordOf(engine, engine.demand == nullptr ? left.at : engine.demand->newest_at);
  if (record == nullptr) return;
  std::erase_if(own_records_, [&](const auto& each) {
    return each->name == record->name || left.at - each->demand->newest_at > kCapacityRecordsKept;
  });
  own_records_.push_back(record);
  if (own_records_.size() > kMaxCapacityRecords) own_records_.erase(own_records_.begin());
}

bool EngineGroup::AddReading(const EngineAddress& engine_address, const EngineUpdate& update,
                             absl::Time kept_since) {
  ForgetDeparted(std::min(kept_since, update.at - demand_window_));
  const auto found = engines_.find(engine_address);
  if (found == engines_.end()) return false;
  EngineTimeline& engine = found->second.engine;
  const size_t before = engine.Bytes();
  const bool is_new = update.reading.ok()
                          ? engine.AddReading(update.at, update.engine, *update.reading)
                          : engine.Fail(update.at, update.reading.status());
  engine.Forget(kept_since);
  if (is_new) found->second.update = ++update_;
  std::shared_ptr<const SignalSeries>& record = found->second.capacity_record;
  if (is_new && update.capacity_record != nullptr) record = update.capacity_record;
  if (record != nullptr && AreOtherModels(engine.models(), record->models)) record = nullptr;
  bytes_ += engine.Bytes() - before;
  return is_new;
}

void EngineGroup::KeepOnly(const std::set<std::string>& models) {
  if (models_ == models) return;
  models_ = models;
  for (auto& [engine_address, listed] : engines_) listed.engine.KeepOnly(models_);
  for (DepartedEngine& left : departed_) left.listed.engine.KeepOnly(models_);
  UpdateBytes();
}

void EngineGroup::ForgetHistograms() {
  for (auto& [engine_address, listed] : engines_) listed.engine.ForgetHistograms();
  for (DepartedEngine& left : departed_) left.listed.engine.ForgetHistograms();
  UpdateBytes();
}

void EngineGroup::UpdateBytes() {
  bytes_ = sizeof(*this);
  for (const auto& [engine_address, listed] : engines_)
    bytes_ += BytesOf(engine_address, listed.engine);
  for (const DepartedEngine& left : departed_)
    bytes_ += BytesOf(left.engine_address, left.listed.engine);
  for (const CapacityRecords* records : {&capacity_records_, &own_records_}) {
    for (const auto& record : *records) bytes_ += BytesOf(*record);
  }
  for (const MissingEngine& pod : List(missing_engines_)) {
    bytes_ +=
        sizeof(pod) + pod.node.size() + pod.namespace_name.size() + pod.pod.size() + pod.why.size();
  }
}

int64_t EngineGroup::Version(absl::FunctionRef<bool(const EngineAddress&)> includes) const {
  int64_t newest = version_of_all_;
  for (const auto& [engine_address, listed] : engines_) {
    if (listed.update > newest && includes(engine_address)) newest = listed.update;
  }
  return newest;
}

SignalHistory EngineGroup::Answer(const EngineQuery& query, absl::Time now, absl::Duration max_gap,
                                  absl::FunctionRef<bool(const EngineAddress&)> includes) const {
  SignalHistory history{.now = now, .status = listed_, .missing_engines = missing_engines_};
  for (const auto& [engine_address, listed] : engines_) {
    if (!includes(engine_address)) continue;
    history.series.push_back(SeriesOf(engine_address, listed.engine, query, now, max_gap));
    history.series.back().listed_since = listed.since;
    AddRecord(listed, query, history.series.back());
  }
  std::set<EngineKey> recorded;
  for (const CapacityRecords* records : {&capacity_records_, &own_records_}) {
    for (const auto& record : *records) {
      const bool is_kept = now - record->demand->newest_at <= kCapacityRecordsKept;
      if (!is_kept || !IsAbout(query, *record)) continue;
      history.capacity_records.push_back(record);
      recorded.insert(KeyOf(*record));
    }
  }
  const absl::Time remembered_since = now - std::max(query.look_back, query.demand_window);
  for (const DepartedEngine& left : departed_) {
    if (!includes(left.engine_address) || left.at < remembered_since) continue;
    history.departed.push_back(
        SeriesOf(left.engine_address, left.listed.engine, query, now, max_gap));
    SignalSeries& series = history.departed.back();
    series.listed_since = left.listed.since;
    if (recorded.contains(KeyOf(series))) DropRecorded(series);
  }
  return history;
}

void EngineGroup::AddRecord(const Listed& listed, const EngineQuery& query, SignalSeries& series) {
  if (listed.capacity_record == nullptr || !IsAbout(query, *listed.capacity_record)) return;
  const SignalSeries& record = *listed.capacity_record;
  if (series.demand != nullptr) {
    series.demand =
        std::make_shared<const EngineDemand>(WithServiceRecord(*series.demand, *record.demand));
  }
  if (series.batch == nullptr ||
      record.batch->learnt_limit.value_or(0) <= series.batch->learnt_limit.value_or(0)) {
    return;
  }
  EngineBatch batch = *series.batch;
  batch.learnt_limit = record.batch->learnt_limit;
  batch.learnt_at = record.batch->learnt_at;
  series.batch = std::make_shared<const EngineBatch>(std::move(batch));
}

}  // namespace gpuscaler
