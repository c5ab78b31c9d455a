#include "signal/signal_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/not_yet.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

absl::Status TooMany(absl::string_view owner, size_t most) {
  return absl::ResourceExhaustedError(
      absl::StrCat(owner, " has ", most, " endpoints read already, and no more"));
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

// The first generation of a new history. It is higher than that of any history before it, updates
// in flight included: each update raises the store's generation, except one by each thread that is
// in progress.
constexpr int64_t kMaxUpdatesInFlight = int64_t{1} << 16;
int64_t FirstGeneration(int64_t store_generation) { return store_generation * kMaxUpdatesInFlight; }

SignalHistory UnknownHistory(int64_t generation, absl::Time now, absl::Status why) {
  return {.generation = generation, .now = now, .status = std::move(why)};
}

}  // namespace

SignalStore::SignalStore(const Limits& limits, std::function<void()> on_new_source)
    : limits_(limits), on_new_source_(std::move(on_new_source)) {}

absl::Status SignalStore::OverMemoryQuota(const std::string& namespace_name) const {
  return absl::ResourceExhaustedError(
      absl::StrCat("what is kept of the engines and queues of namespace ", namespace_name,
                   " takes more than the ", limits_.most_bytes_of_namespace >> 20,
                   " MiB that one namespace may have, of ", limits_.most_bytes >> 20,
                   " MiB for all: a shorter window, fewer models or fewer engines take less"));
}

bool SignalStore::HasRoomFor(const std::string& namespace_name, size_t bytes) const {
  const auto usage = usage_.find(namespace_name);
  const size_t taken = usage == usage_.end() ? 0 : usage->second.bytes;
  return taken + bytes <= limits_.most_bytes_of_namespace && bytes_ + bytes <= limits_.most_bytes;
}

absl::Status SignalStore::CheckQuota(const std::string& namespace_name) const {
  if (sources_.size() >= limits_.most_sources) return TooMany("the scaler", limits_.most_sources);
  const auto usage = usage_.find(namespace_name);
  if (usage != usage_.end() && usage->second.sources >= limits_.most_sources_of_namespace) {
    return TooMany(absl::StrCat("namespace ", namespace_name), limits_.most_sources_of_namespace);
  }
  return HasRoomFor(namespace_name, 1) ? absl::OkStatus() : OverMemoryQuota(namespace_name);
}

absl::Status SignalStore::Want(const SignalSource& source, const EngineQuery& question,
                               absl::Time now, absl::Time until) {
  bool is_new = false;
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    is_new = found == sources_.end();
    if (is_new) {
      EndLeases(now);
      RETURN_IF_ERROR(CheckQuota(source.namespace_name));
    }
    RETURN_IF_ERROR(Renew(source, is_new ? Add(source, now) : found->second, question, until));
  }
  if (is_new) on_new_source_();
  return absl::OkStatus();
}

void SignalStore::ResetHistory(const SignalSource& source, Entry& entry, absl::Time read_since) {
  entry.changed_at = ++generation_;
  entry.source = std::make_shared<StoredSource>(source, read_since, FirstGeneration(generation_));
}

SignalStore::Entry& SignalStore::Add(const SignalSource& source, absl::Time now) {
  Entry& entry = sources_[source];
  ResetHistory(source, entry, now);
  entry.read_at = now;
  ++usage_[source.namespace_name].sources;
  return entry;
}

absl::Status SignalStore::Renew(const SignalSource& source, Entry& entry,
                                const EngineQuery& question, absl::Time until) {
  const bool is_new = entry.leases.IsNew(question);
  if (is_new && !HasRoomFor(source.namespace_name, 1)) {
    return OverMemoryQuota(source.namespace_name);
  }
  entry.leases.Renew(question, until);
  if (!is_new) return absl::OkStatus();
  entry.source->KeepFor(entry.leases);
  EnforceLimits(source, entry);
  return absl::OkStatus();
}

void SignalStore::EndLeases(absl::Time now) {
  for (auto at = sources_.begin(); at != sources_.end();) {
    auto& [source, entry] = *at;
    if (entry.leases.End(now)) {
      entry.source->KeepFor(entry.leases);
      UpdateUsage(source, entry);
      if (entry.evicted_bytes > 0) entry.evicted_bytes = 1;  // it may take less by now
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
  const size_t bytes = entry.leases.Bytes() + entry.source->Bytes();
  Usage& usage = usage_[source.namespace_name];
  usage.bytes += bytes - entry.bytes;
  bytes_ += bytes - entry.bytes;
  entry.bytes = bytes;
}

void SignalStore::EnforceLimits(const SignalSource& source, Entry& entry) {
  UpdateUsage(source, entry);
  if (usage_[source.namespace_name].bytes > limits_.most_bytes_of_namespace) {
    EvictLargest(source.namespace_name);
  }
  if (bytes_ <= limits_.most_bytes) return;
  const auto most =
      std::ranges::max_element(usage_, {}, [](const auto& usage) { return usage.second.bytes; });
  EvictLargest(most->first);
}

// Drops the whole history and stops reading the source: a partial history would pass for a complete
// one.
void SignalStore::EvictLargest(const std::string& namespace_name) {
  Sources::value_type* largest = nullptr;
  for (auto at = sources_.lower_bound({.namespace_name = namespace_name});
       at != sources_.end() && at->first.namespace_name == namespace_name; ++at) {
    if (at->second.evicted_bytes > 0) continue;
    if (largest == nullptr || at->second.bytes > largest->second.bytes) largest = &*at;
  }
  if (largest == nullptr) return;
  auto& [source, entry] = *largest;
  entry.evicted_bytes = entry.bytes;
  ResetHistory(source, entry, absl::InfiniteFuture());
  UpdateUsage(source, entry);
}

// Only with room for twice its former size: it may not have been complete when it was evicted.
void SignalStore::Readmit(const SignalSource& source, Entry& entry, absl::Time now) {
  if (!HasRoomFor(source.namespace_name, 2 * entry.evicted_bytes)) return;
  entry.evicted_bytes = 0;
  entry.read_at = now;
  ResetHistory(source, entry, now);
  entry.source->KeepFor(entry.leases);
  UpdateUsage(source, entry);
}

std::vector<SubscribedSignal> SignalStore::AllSubscribed(absl::Time now) {
  std::vector<SubscribedSignal> subscribed;
  MutexLock lock(mutex_);
  EndLeases(now);
  subscribed.reserve(sources_.size());
  for (auto& [source, entry] : sources_) {
    if (entry.evicted_bytes > 0) Readmit(source, entry, now);
    if (entry.evicted_bytes > 0) continue;
    subscribed.push_back({.source = source,
                          .histograms = entry.leases.histograms(),
                          .look_back = std::max(entry.leases.look_back(), entry.leases.memory()),
                          .since = entry.source->read_since()});
  }
  return subscribed;
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
    if (!kind.has_value() || entry.evicted_bytes > 0) continue;
    SignalCounts& of_kind = counts[static_cast<size_t>(*kind)];
    ++of_kind.sources;
    of_kind.oldest = std::min(of_kind.oldest, entry.read_at);
  }
  return counts;
}

void SignalStore::Record(const SignalSource& source, const SignalAttempt& attempt,
                         absl::FunctionRef<bool(StoredSource&)> apply) {
  std::shared_ptr<StoredSource> stored;
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    if (found == sources_.end() || found->second.evicted_bytes > 0) return;
    Count(source, attempt, found->second);
    stored = found->second.source;
  }
  if (!apply(*stored)) return;
  MutexLock lock(mutex_);
  const auto found = sources_.find(source);
  if (found == sources_.end() || found->second.source != stored) return;
  found->second.changed_at = ++generation_;
  EnforceLimits(source, found->second);
}

void SignalStore::ListEngines(const SignalSource& source,
                              const absl::StatusOr<std::vector<EngineAddress>>& places,
                              absl::Time at, const std::vector<WithoutEngine>& without,
                              const CapacityRecords& capacity_records) {
  SignalAttempt attempt{.failed = places.ok() ? 0 : 1};
  if (places.ok() && places->empty()) attempt.read_at = at;  // scaled to zero
  Record(source, attempt, [&](StoredSource& stored) {
    return stored.ListEngines(places, at, without, capacity_records);
  });
}

void SignalStore::TakeEngine(const SignalSource& source, const EngineAddress& place,
                             const EngineUpdate& update) {
  Record(source, update.reading.ok() ? ReadAt(update.at) : kFailed,
         [&](StoredSource& stored) { return stored.TakeEngine(place, update); });
}

void SignalStore::ListPages(const SignalSource& source,
                            const absl::StatusOr<std::vector<std::string>>& addresses) {
  Record(source, {.failed = addresses.ok() ? 0 : 1},
         [&](StoredSource& stored) { return stored.ListPages(addresses); });
}

void SignalStore::TakePage(const SignalSource& source, const std::string& address,
                           const absl::StatusOr<CounterPoint>& point) {
  Record(source, point.ok() ? ReadAt(point->instant.at) : kFailed,
         [&](StoredSource& stored) { return stored.TakePage(address, point); });
}

void SignalStore::TakeNumber(const SignalSource& source, const absl::StatusOr<CounterPoint>& point,
                             const std::string& note) {
  Record(source, point.ok() ? ReadAt(point->instant.at) : kFailed,
         [&](StoredSource& stored) { return stored.TakeNumber(point, note); });
}

SignalHistory SignalStore::Of(const SignalSource& source, const EngineQuery& question,
                              absl::Time now, EngineFilter counts) const {
  std::shared_ptr<const StoredSource> stored;
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    if (found == sources_.end()) {
      const absl::Status refusal = CheckQuota(source.namespace_name);
      return UnknownHistory(FirstGeneration(generation_), now,
                            refusal.ok() ? absl::UnavailableError("not read yet") : refusal);
    }
    stored = found->second.source;
    if (found->second.evicted_bytes > 0) {
      return UnknownHistory(stored->Updates(counts).generation, now,
                            OverMemoryQuota(source.namespace_name));
    }
  }
  SignalHistory history = stored->Answer(question, now, limits_.max_gap, counts);
  history.is_awaited = now - history.read_since < kFirstReadingWithin && IsPending(history);
  return history;
}

SignalVersion SignalStore::VersionOf(const SignalSource& source, EngineFilter counts) const {
  std::shared_ptr<const StoredSource> stored;
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    if (found == sources_.end()) return {.generation = FirstGeneration(generation_)};
    stored = found->second.source;
  }
  return stored->Updates(counts);
}

int64_t SignalStore::Generation() const {
  MutexLock lock(mutex_);
  return generation_;
}

std::vector<SignalSource> SignalStore::ChangedSince(int64_t generation) const {
  std::vector<SignalSource> changed;
  MutexLock lock(mutex_);
  for (const auto& [source, entry] : sources_) {
    if (entry.changed_at > generation) changed.push_back(source);
  }
  return changed;
}

void AwaitNodes(absl::FunctionRef<bool(const std::string& node)> concerns, SignalHistory& history) {
  if (history.without == nullptr) return;
  const bool is_awaited = std::ranges::any_of(*history.without, [&](const WithoutEngine& without) {
    return without.is_awaited && concerns(without.node);
  });
  if (!is_awaited || !history.status.ok()) return;
  history.status = absl::UnavailableError("not looked for yet");
  history.is_awaited = history.now - history.read_since < kFirstReadingWithin;
}

}  // namespace gpuscaler
