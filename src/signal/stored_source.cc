#include "signal/stored_source.h"

#include <algorithm>
#include <utility>

#include "engine/series_growth.h"
#include "signal/source_name.h"

namespace gpuscaler {
namespace {

// Copies of a source's texts: in the store, in the pollers and in requests in flight. Each address
// adds its own copies.
constexpr size_t kCopies = 8;
constexpr size_t kCopiesOfEach = 4;

constexpr size_t kSeriesBytes = 64;  // one counter series

bool WantsRate(const SignalSource& source) {
  const auto* page = std::get_if<MetricsEndpoint>(&source.target);
  return page != nullptr && page->rate;
}

bool IsOfEngines(const SignalSource& source) {
  return std::holds_alternative<DiscoveredEngines>(source.target) ||
         std::holds_alternative<EngineEndpoint>(source.target);
}

std::variant<EngineGroup, ScrapedGroup, NumberTimeline> EmptyHistory(const SignalSource& source) {
  if (IsOfEngines(source)) return EngineGroup();
  if (std::holds_alternative<MetricsEndpoint>(source.target))
    return ScrapedGroup(WantsRate(source));
  return NumberTimeline(/*is_rate=*/false);
}

size_t TargetTextBytes(const SignalSource& source) {
  if (const auto* const engines = std::get_if<EngineEndpoint>(&source.target)) {
    return engines->url.size() + engines->engine.size();
  }
  if (const auto* const page = std::get_if<MetricsEndpoint>(&source.target)) {
    return page->url.size() + page->selector.size();
  }
  const auto* const queue = std::get_if<RedisQueue>(&source.target);
  return queue == nullptr ? 0 : queue->address.size() + queue->key.size() + queue->group.size();
}

size_t TextBytes(const SignalSource& source) {
  const EndpointCredentials& own = source.credentials;
  return sizeof(SignalSource) + source.namespace_name.size() + TargetTextBytes(source) +
         own.alias.size() + own.username.size() + own.password.size() + own.bearer_token.size() +
         own.ca_pem.size();
}

// Counts each matcher that may be a regular expression: "=~" or "!~".
size_t RegexBytes(const SignalSource& source) {
  const auto* const page = std::get_if<MetricsEndpoint>(&source.target);
  if (page == nullptr) return 0;
  return static_cast<size_t>(std::ranges::count(page->selector, '~')) * kRegexBytes;
}

}  // namespace

StoredSource::StoredSource(SignalSource source, absl::Time read_since, int64_t generation)
    : source_(std::move(source)),
      read_since_(read_since),
      first_generation_(generation),
      observed_(EmptyHistory(source_)) {
  MutexLock lock(mutex_);
  UpdateBytes();
}

void StoredSource::UpdateBytes() {
  const auto* const engines = std::get_if<EngineGroup>(&observed_);
  const auto* const pages = std::get_if<ScrapedGroup>(&observed_);
  const size_t addresses = engines != nullptr ? engines->size()  // those read separately
                           : pages != nullptr ? pages->size()
                                              : 0;
  const size_t counter_series =
      WantsRate(source_) ? kMaxSeries * std::max(addresses, size_t{1}) : 0;
  bytes_ = (kCopies + kCopiesOfEach * addresses) * TextBytes(source_) + RegexBytes(source_) +
           counter_series * kSeriesBytes +
           std::visit([](const auto& observed) { return observed.Bytes(); }, observed_);
}

void StoredSource::KeepFor(const SourceNeeds& needs) {
  MutexLock lock(mutex_);
  if (auto* group = std::get_if<EngineGroup>(&observed_)) {
    group->KeepOnly(needs.models);
    if (!needs.histograms) group->ForgetHistograms();
    group->KeepDeparted(needs.demand_window);
  }
  look_back_ = needs.look_back;
  UpdateBytes();
}

int64_t StoredSource::GenerationOf(absl::FunctionRef<bool(const EngineAddress&)> includes) const {
  const auto* const engines = std::get_if<EngineGroup>(&observed_);
  return first_generation_ + (engines != nullptr ? engines->Version(includes) : version_);
}

SignalVersion StoredSource::Version(absl::FunctionRef<bool(const EngineAddress&)> includes) const {
  MutexLock lock(mutex_);
  const auto* const engines = std::get_if<EngineGroup>(&observed_);
  return {.generation = GenerationOf(includes),
          .has_no_engines = engines != nullptr && engines->HasNone()};
}

SignalHistory StoredSource::Answer(const EngineQuery& query, absl::Time now, absl::Duration max_gap,
                                   absl::FunctionRef<bool(const EngineAddress&)> includes) const {
  SignalHistory history{.now = now};
  {
    MutexLock lock(mutex_);
    if (const auto* group = std::get_if<EngineGroup>(&observed_)) {
      history = group->Answer(query, now, max_gap, includes);
    } else {
      const auto* pages = std::get_if<ScrapedGroup>(&observed_);
      history.series.push_back(
          pages != nullptr ? pages->Answer(query, now, max_gap)
                           : std::get<NumberTimeline>(observed_).Answer(query, now, max_gap));
      history.series.back().name = NameOf(source_);
    }
    history.generation = GenerationOf(includes);
  }
  history.read_since = read_since_;
  return history;
}

}  // namespace gpuscaler
