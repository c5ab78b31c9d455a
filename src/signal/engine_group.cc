#include "signal/engine_group.h"

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signal/http_endpoint.h"

namespace gpuscaler {
namespace {

// "vllm at 10.1.2.3:8000".
std::string NameOf(const EnginePlace& place, const EngineTimeline& engine) {
  return absl::StrCat(engine.engine().empty() ? "engine" : engine.engine(), " at ",
                      HostAndPort(place.address, place.port));
}

}  // namespace

bool EngineGroup::List(const absl::StatusOr<std::vector<EnginePlace>>& places) {
  const absl::Status before = std::exchange(listed_, places.status());
  if (!places.ok()) return listed_ != before;
  std::set<EnginePlace> all(places->begin(), places->end());
  if (all.size() > kMostEngines) {
    listed_ = absl::ResourceExhaustedError(
        absl::StrCat(all.size(), " engines are more than ", kMostEngines));
    all.erase(std::next(all.begin(), kMostEngines), all.end());
  }
  const size_t gone =
      std::erase_if(engines_, [&](const auto& engine) { return !all.contains(engine.first); });
  return AddNew(all) || gone > 0 || listed_ != before;
}

bool EngineGroup::AddNew(const std::set<EnginePlace>& places) {
  bool any = false;
  for (const EnginePlace& place : places) {
    const auto [engine, is_new] = engines_.try_emplace(place);
    if (!is_new) continue;
    any = true;
    for (const std::string& model : models_) engine->second.Keep(model);
  }
  return any;
}

bool EngineGroup::Take(const EnginePlace& place, const EngineNews& news) {
  const auto found = engines_.find(place);
  if (found == engines_.end()) return false;
  return news.reading.ok() ? found->second.Take(news.at, news.engine, *news.reading)
                           : found->second.Fail(news.at, news.reading.status());
}

void EngineGroup::Keep(const std::string& model) {
  if (!models_.insert(model).second) return;
  for (auto& [place, engine] : engines_) engine.Keep(model);
}

void EngineGroup::Forget(absl::Time before) {
  for (auto& [place, engine] : engines_) engine.Forget(before);
}

SignalHistory EngineGroup::Answer(const EngineQuestion& question, absl::Time now,
                                  absl::Duration longest_gap,
                                  absl::FunctionRef<bool(const EnginePlace&)> counts) const {
  SignalHistory history{.now = now, .status = listed_};
  for (const auto& [place, engine] : engines_) {
    if (!counts(place)) continue;
    SignalSeries series = engine.Answer(question, now, longest_gap);
    series.name = NameOf(place, engine);
    series.namespace_name = place.namespace_name;
    series.pod = place.pod;
    series.address = place.address;
    history.series.push_back(std::move(series));
  }
  return history;
}

}  // namespace gpuscaler
