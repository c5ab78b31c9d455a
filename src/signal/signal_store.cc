#include "signal/signal_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/not_yet.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

absl::Status TooMany(absl::string_view owner, size_t max) {
  return absl::ResourceExhaustedError(
      absl::StrCat(owner, " has ", max, " endpoints read already, and no more"));
}

// Enough to resolve a name and fetch a page, or for both to fail.
constexpr absl::Duration kFirstReadingWithin = absl::Seconds(2);

// Returns true while no reading has arrived and at least one has not been attempted yet.
bool IsPending(const SignalHistory& history) {
  if (!history.status.ok()) return IsNotYet(history.status);
  const auto has_answered = [](const SignalSeries& series) {
    return series.first_read_at != absl::InfiniteFuture();
  };
  return std::ranges::none_of(history.series, has_answered) &&
         !std::ranges::all_of(history.series, &SignalSeries::was_attempted);
}

constexpr SignalAttempt kFailed{.failed = 1};

SignalAttempt ReadAt(absl::Time at) { return {.read = 1, .read_at = at}; }

SignalAttempt AttemptOf(const absl::StatusOr<CounterPoint>& point) {
  return point.ok() ? ReadAt(point->instant.at) : kFailed;
}

// Maximum number of updates in flight, one per thread.
constexpr int64_t kMaxUpdatesInFlight = int64_t{1} << 16;

// The first generation of a new history is above all generations of the source's earlier ones. Each
// update adds 1 to its history's generation and then 1 to the store's. So a history has grown by at
// most as much as the store, plus one for each thread between the two steps.
int64_t FirstGeneration(int64_t store_generation) { return store_generation * kMaxUpdatesInFlight; }

SourceNeeds UnionOf(const LeaseSet<SourceNeeds>& leases) {
  SourceNeeds all;
  for (const auto& [needs, until] : leases) all.Add(needs);
  return all;
}

// Approximate, and includes the union of the leases.
size_t BytesOf(const LeaseSet<SourceNeeds>& leases) {
  constexpr size_t kNode = 64;  // tree node and malloc overhead
  size_t bytes = 0;
  for (const auto& [needs, until] : leases) {
    bytes += sizeof(needs) + kNode;
    for (const std::string& model : needs.models) bytes += 2 * (kNode + model.capacity());
  }
  return bytes;
}

SignalHistory UnknownHistory(int64_t generation, absl::Time now, absl::Status why) {
  return {.generation = generation, .now = now, .status = std::move(why)};
}

}  // namespace

SignalStore::SignalStore(const Limits& limits, std::function<void()> on_new_source)
    : limits_(limits), on_new_source_(std::move(on_new_source)) {}

absl::Status SignalStore::OverMemoryQuota(const std::string& namespace_name) const {
  return absl::ResourceExhaustedError(absl::StrCat(
      "no memory for the readings of namespace ", namespace_name, ": a namespace may use ",
      limits_.max_bytes_per_namespace >> 20, " MiB, and all together ", limits_.max_bytes >> 20,
      " MiB. A shorter window, fewer models or fewer engines take less"));
}

bool SignalStore::HasRoomFor(const std::string& namespace_name, size_t bytes) const {
  const auto usage = usage_.find(namespace_name);
  const size_t taken = usage == usage_.end() ? 0 : usage->second.bytes;
  return taken + bytes <= limits_.max_bytes_per_namespace && bytes_ + bytes <= limits_.max_bytes;
}

absl::Status SignalStore::CheckQuota(const std::string& namespace_name) const {
  if (sources_.size() >= limits_.max_sources) return TooMany("the scaler", limits_.max_sources);
  const auto usage = usage_.find(namespace_name);
  if (usage != usage_.end() && usage->second.sources >= limits_.max_sources_per_namespace) {
    return TooMany(absl::StrCat("namespace ", namespace_name), limits_.max_sources_per_namespace);
  }
  return HasRoomFor(namespace_name, 1) ? absl::OkStatus() : OverMemoryQuota(namespace_name);
}

absl::Status SignalStore::Lease(const SignalSource& source, const EngineQuery& query,
                                absl::Time now, absl::Time until) {
  bool is_new = false;
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    is_new = found == sources_.end();
    if (is_new) {
      RemoveExpired(now);
      RETURN_IF_ERROR(CheckQuota(source.namespace_name));
    }
    RETURN_IF_ERROR(Renew(source, is_new ? Add(source, now) : found->second, query, until));
  }
  if (is_new) on_new_source_();
  return absl::OkStatus();
}

void SignalStore::ResetHistory(const SignalSource& source, Entry& entry, absl::Time read_since) {
  entry.changed_generation = ++generation_;
  entry.history = std::make_shared<StoredSource>(source, read_since, FirstGeneration(generation_));
}

SignalStore::Entry& SignalStore::Add(const SignalSource& source, absl::Time now) {
  Entry& entry = sources_[source];
  ResetHistory(source, entry, now);
  entry.read_at = now;
  ++usage_[source.namespace_name].sources;
  return entry;
}

absl::Status SignalStore::Renew(const SignalSource& source, Entry& entry, const EngineQuery& query,
                                absl::Time until) {
  const SourceNeeds needs = NeedsOf(query);
  if (!entry.leases.contains(needs) && !HasRoomFor(source.namespace_name, 1)) {
    return OverMemoryQuota(source.namespace_name);
  }
  if (!entry.leases.Renew(needs, until)) return absl::OkStatus();
  entry.needs.Add(needs);
  entry.history->KeepFor(entry.needs);
  EnforceLimits(source, entry);
  return absl::OkStatus();
}

void SignalStore::RemoveExpired(absl::Time now) {
  for (auto at = sources_.begin(); at != sources_.end();) {
    auto& [source, entry] = *at;
    if (entry.leases.Sweep(now)) {
      entry.needs = UnionOf(entry.leases);
      entry.history->KeepFor(entry.needs);
      UpdateUsage(source, entry);
      entry.evicted_bytes = 0;
    }
    if (!entry.leases.empty()) {
      ++at;
      continue;
    }
    const auto usage = usage_.find(source.namespace_name);
    bytes_ -= entry.bytes;
    usage->second.bytes -= entry.bytes;
    if (--usage->second.sources == 0) usage_.erase(usage);
    at = sources_.erase(at);
  }
}

void SignalStore::UpdateUsage(const SignalSource& source, Entry& entry) {
  const size_t bytes = BytesOf(entry.leases) + entry.history->Bytes();
  Usage& usage = usage_[source.namespace_name];
  usage.bytes += bytes - entry.bytes;
  bytes_ += bytes - entry.bytes;
  entry.bytes = bytes;
}

void SignalStore::EnforceLimits(const SignalSource& source, Entry& entry) {
  UpdateUsage(source, entry);
  if (usage_[source.namespace_name].bytes > limits_.max_bytes_per_namespace) {
    EvictLargest(source.namespace_name);
  }
  if (bytes_ <= limits_.max_bytes) return;
  const auto largest =
      std::ranges::max_element(usage_, {}, [](const auto& usage) { return usage.second.bytes; });
  EvictLargest(largest->first);
}

// Drops the whole history and stops reading the source: a partial history would pass for a complete
// one.
void SignalStore::EvictLargest(const std::string& namespace_name) {
  Sources::value_type* largest = nullptr;
  for (auto at = sources_.lower_bound({.namespace_name = namespace_name});
       at != sources_.end() && at->first.namespace_name == namespace_name; ++at) {
    if (at->second.is_evicted) continue;
    if (largest == nullptr || at->second.bytes > largest->second.bytes) largest = &*at;
  }
  if (largest == nullptr) return;
  auto& [source, entry] = *largest;
  entry.is_evicted = true;
  entry.evicted_bytes = entry.bytes;
  ResetHistory(source, entry, absl::InfiniteFuture());
  UpdateUsage(source, entry);
}

// Reads an evicted source again if there is room for twice its former size: its history may have
// been incomplete when it was evicted.
void SignalStore::Readmit(const SignalSource& source, Entry& entry, absl::Time now) {
  if (!HasRoomFor(source.namespace_name, 2 * entry.evicted_bytes)) return;
  entry.is_evicted = false;
  entry.read_at = now;
  ResetHistory(source, entry, now);
  entry.history->KeepFor(entry.needs);
  UpdateUsage(source, entry);
}

std::vector<LeasedSource> SignalStore::LeasedSources(absl::Time now) {
  std::vector<LeasedSource> leased;
  MutexLock lock(mutex_);
  RemoveExpired(now);
  leased.reserve(sources_.size());
  for (auto& [source, entry] : sources_) {
    if (entry.is_evicted) Readmit(source, entry, now);
    if (entry.is_evicted) continue;
    leased.push_back({.source = source,
                      .needs_histograms = entry.needs.histograms,
                      .look_back = std::max(entry.needs.look_back, entry.needs.demand_window),
                      .since = entry.history->read_since()});
  }
  return leased;
}

void SignalStore::Count(const SignalSource& source, const SignalAttempt& attempt, Entry& entry) {
  entry.read_at = std::max(entry.read_at, attempt.read_at);
  const std::optional<SignalKind> kind = KindOf(source);
  if (!kind.has_value()) return;
  SignalCounts& counts = counts_[static_cast<size_t>(*kind)];
  counts.read += attempt.read;
  counts.failed += attempt.failed;
}

SignalCountsByKind SignalStore::Counts() const {
  MutexLock lock(mutex_);
  SignalCountsByKind counts = counts_;
  for (const auto& [source, entry] : sources_) {
    const std::optional<SignalKind> kind = KindOf(source);
    if (!kind.has_value() || entry.is_evicted) continue;
    SignalCounts& of_kind = counts[static_cast<size_t>(*kind)];
    ++of_kind.sources;
    of_kind.oldest = std::min(of_kind.oldest, entry.read_at);
  }
  return counts;
}

template <typename Observed>
void SignalStore::Record(const SignalSource& source, const SignalAttempt& attempt,
                         absl::FunctionRef<bool(Observed&, absl::Duration)> apply) {
  std::shared_ptr<StoredSource> stored;
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    if (found == sources_.end() || found->second.is_evicted) return;
    Count(source, attempt, found->second);
    stored = found->second.history;
  }
  if (!stored->Update(apply)) return;
  MutexLock lock(mutex_);
  const auto found = sources_.find(source);
  if (found == sources_.end() || found->second.history != stored) return;
  found->second.changed_generation = ++generation_;
  EnforceLimits(source, found->second);
}

void SignalStore::SetEngines(const SignalSource& source,
                             const absl::StatusOr<std::vector<EngineAddress>>& engines,
                             absl::Time at,
                             std::shared_ptr<const std::vector<MissingEngine>> missing_engines,
                             const CapacityRecords& capacity_records) {
  SignalAttempt attempt{.failed = engines.ok() ? 0 : 1};
  if (engines.ok() && engines->empty()) attempt.read_at = at;  // scaled to zero
  Record<EngineGroup>(source, attempt, [&](EngineGroup& group, absl::Duration look_back) {
    return group.SetEngines(engines, at, std::move(missing_engines), at - look_back,
                            capacity_records);
  });
}

void SignalStore::AddReading(const SignalSource& source, const EngineAddress& engine_address,
                             const EngineUpdate& update) {
  Record<EngineGroup>(source, update.reading.ok() ? ReadAt(update.at) : kFailed,
                      [&](EngineGroup& group, absl::Duration look_back) {
                        return group.AddReading(engine_address, update, update.at - look_back);
                      });
}

void SignalStore::SetEndpointAddresses(const SignalSource& source,
                                       const absl::StatusOr<std::vector<std::string>>& addresses) {
  Record<ScrapedGroup>(
      source, {.failed = addresses.ok() ? 0 : 1},
      [&](ScrapedGroup& pages, absl::Duration) { return pages.SetAddresses(addresses); });
}

void SignalStore::AddSample(const SignalSource& source, const std::string& address,
                            const absl::StatusOr<CounterPoint>& point) {
  Record<ScrapedGroup>(source, AttemptOf(point),
                       [&](ScrapedGroup& pages, absl::Duration look_back) {
                         const bool is_new = pages.AddSample(address, point);
                         if (point.ok()) pages.Forget(point->instant.at - look_back);
                         return is_new;
                       });
}

void SignalStore::AddQueueLength(const SignalSource& source,
                                 const absl::StatusOr<CounterPoint>& point,
                                 const std::string& note) {
  Record<NumberTimeline>(source, AttemptOf(point),
                         [&](NumberTimeline& number, absl::Duration look_back) {
                           number.AddPoint(point, note);
                           if (point.ok()) number.Forget(point->instant.at - look_back);
                           return true;
                         });
}

SignalHistory SignalStore::HistoryOf(const SignalSource& source, const EngineQuery& query,
                                     absl::Time now, EngineFilter includes) const {
  std::shared_ptr<const StoredSource> stored;
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    if (found == sources_.end()) {
      const absl::Status refusal = CheckQuota(source.namespace_name);
      return UnknownHistory(FirstGeneration(generation_), now,
                            refusal.ok() ? absl::UnavailableError("not read yet") : refusal);
    }
    stored = found->second.history;
    if (found->second.is_evicted) {
      return UnknownHistory(stored->Version(includes).generation, now,
                            OverMemoryQuota(source.namespace_name));
    }
  }
  SignalHistory history = stored->Answer(query, now, limits_.max_gap, includes);
  history.is_awaited = now - history.read_since < kFirstReadingWithin && IsPending(history);
  return history;
}

SignalVersion SignalStore::VersionOf(const SignalSource& source, EngineFilter includes) const {
  std::shared_ptr<const StoredSource> stored;
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    if (found == sources_.end()) return {.generation = FirstGeneration(generation_)};
    stored = found->second.history;
  }
  return stored->Version(includes);
}

int64_t SignalStore::Generation() const {
  MutexLock lock(mutex_);
  return generation_;
}

std::vector<SignalSource> SignalStore::ChangedSince(int64_t generation) const {
  std::vector<SignalSource> changed;
  MutexLock lock(mutex_);
  for (const auto& [source, entry] : sources_) {
    if (entry.changed_generation > generation) changed.push_back(source);
  }
  return changed;
}

void MarkAwaited(absl::FunctionRef<bool(const std::string& node)> concerns,
                 SignalHistory& history) {
  if (history.missing_engines == nullptr) return;
  const bool is_awaited = std::ranges::any_of(
      *history.missing_engines,
      [&](const MissingEngine& missing) { return missing.is_awaited && concerns(missing.node); });
  if (!is_awaited || !history.status.ok()) return;
  history.status = absl::UnavailableError("not looked for yet");
  history.is_awaited = history.now - history.read_since < kFirstReadingWithin;
}

}  // namespace gpuscaler
