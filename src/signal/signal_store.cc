#include "signal/signal_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signal/engine_answers.h"
#include "signal/source_name.h"

namespace gpuscaler {
namespace {

bool WantsRate(const SignalSource& source) {
  const auto* page = std::get_if<MetricsPage>(&source.place);
  return page != nullptr && page->rate;
}

bool IsOfEngines(const SignalSource& source) {
  return std::holds_alternative<DiscoveredEngines>(source.place) ||
         std::holds_alternative<EngineEndpoint>(source.place);
}

absl::Status TooMany(size_t most) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the scaler reads ", most, " endpoints already, and no more"));
}

SignalHistory NotWanted(absl::Time now) {
  return {.now = now, .status = absl::UnavailableError("not read yet")};
}

}  // namespace

SignalStore::SignalStore(const Limits& limits, Listener listener)
    : limits_(limits), listener_(std::move(listener)) {}

SignalStore::Kept SignalStore::KeptFor(const SignalSource& source, absl::Time now) {
  if (IsOfEngines(source)) return {.read_since = now, .said = EngineGroup()};
  return {.read_since = now, .said = NumberTimeline(WantsRate(source))};
}

absl::Status SignalStore::Want(const SignalSource& source, const EngineQuestion& question,
                               absl::Time now, absl::Time until) {
  bool is_new = false;
  {
    MutexLock lock(mutex_);
    auto found = sources_.find(source);
    is_new = found == sources_.end();
    if (is_new) {
      Sweep(now);
      if (sources_.size() >= limits_.most_sources) return TooMany(limits_.most_sources);
      found = sources_.emplace(source, KeptFor(source, now)).first;
    }
    Renew(question, until, found->second);
  }
  if (is_new) listener_.wanted();
  return absl::OkStatus();
}

void SignalStore::Renew(const EngineQuestion& question, absl::Time until, Kept& kept) {
  kept.until = std::max(kept.until, until);
  kept.look_back = std::max(kept.look_back, question.look_back + question.window);
  kept.histograms = kept.histograms || NeedsHistograms(question.metric);
  if (auto* group = std::get_if<EngineGroup>(&kept.said)) group->Keep(question.model);
}

void SignalStore::Sweep(absl::Time now) {
  std::erase_if(sources_, [&](const auto& source) { return source.second.until <= now; });
}

std::vector<WantedSignal> SignalStore::AllWanted(absl::Time now) {
  std::vector<WantedSignal> wanted;
  MutexLock lock(mutex_);
  Sweep(now);
  wanted.reserve(sources_.size());
  for (auto& [source, kept] : sources_) {
    const absl::Time oldest = now - kept.look_back;
    std::visit([&](auto& said) { said.Forget(oldest); }, kept.said);
    wanted.push_back({.source = source, .histograms = kept.histograms});
  }
  return wanted;
}

void SignalStore::Tell(const SignalSource& source, absl::FunctionRef<bool(Kept& kept)> tell) {
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    if (found == sources_.end() || !tell(found->second)) return;
    found->second.changed_at = ++generation_;
  }
  listener_.changed();
}

void SignalStore::ListEngines(const SignalSource& source,
                              const absl::StatusOr<std::vector<EnginePlace>>& places) {
  Tell(source, [&](Kept& kept) { return std::get<EngineGroup>(kept.said).List(places); });
}

void SignalStore::TakeEngine(const SignalSource& source, const EnginePlace& place,
                             const EngineNews& news) {
  Tell(source, [&](Kept& kept) { return std::get<EngineGroup>(kept.said).Take(place, news); });
}

void SignalStore::TakeNumber(const SignalSource& source,
                             const absl::StatusOr<CounterPoint>& point) {
  Tell(source, [&](Kept& kept) {
    std::get<NumberTimeline>(kept.said).Take(point);
    return true;
  });
}

SignalHistory SignalStore::Of(const SignalSource& source, const EngineQuestion& question,
                              absl::Time now,
                              absl::FunctionRef<bool(const EnginePlace&)> counts) const {
  MutexLock lock(mutex_);
  const auto found = sources_.find(source);
  if (found == sources_.end()) return NotWanted(now);
  const Kept& kept = found->second;
  SignalHistory history;
  if (const auto* group = std::get_if<EngineGroup>(&kept.said)) {
    history = group->Answer(question, now, limits_.longest_gap, counts);
  } else {
    history.now = now;
    history.series.push_back(
        std::get<NumberTimeline>(kept.said).Answer(question, now, limits_.longest_gap));
    history.series.back().name = NameOf(source);
  }
  history.generation = kept.changed_at;
  history.read_since = kept.read_since;
  history.every = limits_.every;
  return history;
}

int64_t SignalStore::Generation() const {
  MutexLock lock(mutex_);
  return generation_;
}

std::vector<SignalSource> SignalStore::ChangedSince(int64_t generation) const {
  std::vector<SignalSource> changed;
  MutexLock lock(mutex_);
  for (const auto& [source, kept] : sources_) {
    if (kept.changed_at > generation) changed.push_back(source);
  }
  return changed;
}

}  // namespace gpuscaler
