#include "signal/signal_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/not_yet.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

absl::Status TooMany(absl::string_view who, size_t most) {
  return absl::ResourceExhaustedError(
      absl::StrCat(who, " has ", most, " endpoints read already, and no more"));
}

// A name is resolved and a page fetched, or both have failed.
constexpr absl::Duration kFirstReading = absl::Seconds(2);

// Nobody has answered, and somebody is still to: that it failed would be known.
bool IsOnItsWay(const SignalHistory& history) {
  if (!history.status.ok()) return IsNotYet(history.status);
  const auto has_answered = [](const SignalSeries& series) {
    return series.answers_since != absl::InfiniteFuture();
  };
  return std::ranges::none_of(history.series, has_answered) &&
         !std::ranges::all_of(history.series, &SignalSeries::was_tried);
}

constexpr SignalAttempt kFailed{.failed = 1};

SignalAttempt ReadAt(absl::Time at) { return {.read = 1, .read_at = at}; }

// The histories of a source that begins are newer than all before it, those too that somebody is
// about to tell of: each that was told of has counted as news of the store, but for one by each
// thread.
constexpr int64_t kMostAtOnce = int64_t{1} << 16;
int64_t FirstOf(int64_t version_of_store) { return version_of_store * kMostAtOnce; }

SignalHistory NotKnown(int64_t generation, absl::Time now, absl::Status why) {
  return {.generation = generation, .now = now, .status = std::move(why)};
}

}  // namespace

SignalStore::SignalStore(const Limits& limits, std::function<void()> wanted)
    : limits_(limits), wanted_(std::move(wanted)) {}

absl::Status SignalStore::NoMemoryFor(const std::string& namespace_name) const {
  return absl::ResourceExhaustedError(
      absl::StrCat("what is kept of the engines and queues of namespace ", namespace_name,
                   " takes more than the ", limits_.most_bytes_of_namespace >> 20,
                   " MiB that one namespace may have, of ", limits_.most_bytes >> 20,
                   " MiB for all: a shorter window, fewer models or fewer engines take less"));
}

bool SignalStore::HasRoomFor(const std::string& namespace_name, size_t bytes) const {
  const auto share = shares_.find(namespace_name);
  const size_t taken = share == shares_.end() ? 0 : share->second.bytes;
  return taken + bytes <= limits_.most_bytes_of_namespace && bytes_ + bytes <= limits_.most_bytes;
}

absl::Status SignalStore::RefusalOf(const std::string& namespace_name) const {
  if (sources_.size() >= limits_.most_sources) return TooMany("the scaler", limits_.most_sources);
  const auto share = shares_.find(namespace_name);
  if (share != shares_.end() && share->second.sources >= limits_.most_sources_of_namespace) {
    return TooMany(absl::StrCat("namespace ", namespace_name), limits_.most_sources_of_namespace);
  }
  return HasRoomFor(namespace_name, 1) ? absl::OkStatus() : NoMemoryFor(namespace_name);
}

absl::Status SignalStore::Want(const SignalSource& source, const EngineQuestion& question,
                               absl::Time now, absl::Time until) {
  bool is_new = false;
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    is_new = found == sources_.end();
    if (is_new) {
      EndLeases(now);
      RETURN_IF_ERROR(RefusalOf(source.namespace_name));
    }
    RETURN_IF_ERROR(Renew(source, is_new ? Add(source, now) : found->second, question, until));
  }
  if (is_new) wanted_();
  return absl::OkStatus();
}

void SignalStore::Begin(const SignalSource& source, Kept& kept, absl::Time read_since) {
  kept.changed_at = ++generation_;
  kept.source = std::make_shared<StoredSource>(source, read_since, FirstOf(generation_));
}

SignalStore::Kept& SignalStore::Add(const SignalSource& source, absl::Time now) {
  Kept& kept = sources_[source];
  Begin(source, kept, now);
  kept.read_at = now;
  ++shares_[source.namespace_name].sources;
  return kept;
}

absl::Status SignalStore::Renew(const SignalSource& source, Kept& kept,
                                const EngineQuestion& question, absl::Time until) {
  const bool is_new = kept.leases.IsNew(question);
  if (is_new && !HasRoomFor(source.namespace_name, 1)) return NoMemoryFor(source.namespace_name);
  kept.leases.Renew(question, until);
  if (!is_new) return absl::OkStatus();
  kept.source->KeepFor(kept.leases);
  Weigh(source, kept);
  return absl::OkStatus();
}

void SignalStore::EndLeases(absl::Time now) {
  for (auto at = sources_.begin(); at != sources_.end();) {
    auto& [source, kept] = *at;
    if (kept.leases.End(now)) {
      kept.source->KeepFor(kept.leases);
      CountIn(source, kept);
      if (kept.given_up_at > 0) kept.given_up_at = 1;  // it may take less by now
    }
    if (!kept.leases.empty()) {
      ++at;
      continue;
    }
    const auto share = shares_.find(source.namespace_name);
    bytes_ -= kept.bytes;
    share->second.bytes -= kept.bytes;
    if (--share->second.sources == 0) shares_.erase(share);
    at = sources_.erase(at);
  }
}

void SignalStore::CountIn(const SignalSource& source, Kept& kept) {
  const size_t bytes = kept.leases.Bytes() + kept.source->Bytes();
  Share& share = shares_[source.namespace_name];
  share.bytes += bytes - kept.bytes;
  bytes_ += bytes - kept.bytes;
  kept.bytes = bytes;
}

void SignalStore::Weigh(const SignalSource& source, Kept& kept) {
  CountIn(source, kept);
  if (shares_[source.namespace_name].bytes > limits_.most_bytes_of_namespace) {
    GiveUpLargest(source.namespace_name);
  }
  if (bytes_ <= limits_.most_bytes) return;
  const auto most =
      std::ranges::max_element(shares_, {}, [](const auto& share) { return share.second.bytes; });
  GiveUpLargest(most->first);
}

// All that it said goes, and it is read no more: a part would be taken for the whole.
void SignalStore::GiveUpLargest(const std::string& namespace_name) {
  Sources::value_type* largest = nullptr;
  for (auto at = sources_.lower_bound({.namespace_name = namespace_name});
       at != sources_.end() && at->first.namespace_name == namespace_name; ++at) {
    if (at->second.given_up_at > 0) continue;
    if (largest == nullptr || at->second.bytes > largest->second.bytes) largest = &*at;
  }
  if (largest == nullptr) return;
  auto& [source, kept] = *largest;
  kept.given_up_at = kept.bytes;
  Begin(source, kept, absl::InfiniteFuture());
  CountIn(source, kept);
}

// When there is room for twice what it took then: it may not have said all yet.
void SignalStore::TakeBack(const SignalSource& source, Kept& kept, absl::Time now) {
  if (!HasRoomFor(source.namespace_name, 2 * kept.given_up_at)) return;
  kept.given_up_at = 0;
  kept.read_at = now;
  Begin(source, kept, now);
  kept.source->KeepFor(kept.leases);
  CountIn(source, kept);
}

std::vector<SubscribedSignal> SignalStore::AllSubscribed(absl::Time now) {
  std::vector<SubscribedSignal> wanted;
  MutexLock lock(mutex_);
  EndLeases(now);
  wanted.reserve(sources_.size());
  for (auto& [source, kept] : sources_) {
    if (kept.given_up_at > 0) TakeBack(source, kept, now);
    if (kept.given_up_at > 0) continue;
    wanted.push_back({.source = source,
                      .histograms = kept.leases.histograms(),
                      .look_back = std::max(kept.leases.look_back(), kept.leases.memory()),
                      .since = kept.source->read_since()});
  }
  return wanted;
}

void SignalStore::Count(const SignalSource& source, const SignalAttempt& attempt, Kept& kept) {
  kept.read_at = std::max(kept.read_at, attempt.read_at);
  const std::optional<SignalKind> kind = KindOf(source);
  if (!kind.has_value()) return;
  SignalCounts& counts = counts_[static_cast<size_t>(*kind)];
  counts.read += attempt.read;
  counts.failed += attempt.failed;
}

SignalCountsByKind SignalStore::Counts() const {
  MutexLock lock(mutex_);
  SignalCountsByKind counts = counts_;
  for (const auto& [source, kept] : sources_) {
    const std::optional<SignalKind> kind = KindOf(source);
    if (!kind.has_value() || kept.given_up_at > 0) continue;
    SignalCounts& of_kind = counts[static_cast<size_t>(*kind)];
    ++of_kind.sources;
    of_kind.oldest = std::min(of_kind.oldest, kept.read_at);
  }
  return counts;
}

void SignalStore::Tell(const SignalSource& source, const SignalAttempt& attempt,
                       absl::FunctionRef<bool(StoredSource& kept)> tell) {
  std::shared_ptr<StoredSource> reported;
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    if (found == sources_.end() || found->second.given_up_at > 0) return;
    Count(source, attempt, found->second);
    reported = found->second.source;
  }
  if (!tell(*reported)) return;
  MutexLock lock(mutex_);
  const auto found = sources_.find(source);
  if (found == sources_.end() || found->second.source != reported) return;
  found->second.changed_at = ++generation_;
  Weigh(source, found->second);
}

void SignalStore::ListEngines(const SignalSource& source,
                              const absl::StatusOr<std::vector<EnginePlace>>& places, absl::Time at,
                              const std::vector<WithoutEngine>& without,
                              const CapacityRecords& capacity_records) {
  SignalAttempt attempt{.failed = places.ok() ? 0 : 1};
  if (places.ok() && places->empty()) attempt.read_at = at;  // they are asleep
  Tell(source, attempt,
       [&](StoredSource& kept) { return kept.ListEngines(places, at, without, capacity_records); });
}

void SignalStore::TakeEngine(const SignalSource& source, const EnginePlace& place,
                             const EngineUpdate& update) {
  Tell(source, update.reading.ok() ? ReadAt(update.at) : kFailed,
       [&](StoredSource& kept) { return kept.TakeEngine(place, update); });
}

void SignalStore::ListPages(const SignalSource& source,
                            const absl::StatusOr<std::vector<std::string>>& addresses) {
  Tell(source, {.failed = addresses.ok() ? 0 : 1},
       [&](StoredSource& kept) { return kept.ListPages(addresses); });
}

void SignalStore::TakePage(const SignalSource& source, const std::string& address,
                           const absl::StatusOr<CounterPoint>& point) {
  Tell(source, point.ok() ? ReadAt(point->instant.at) : kFailed,
       [&](StoredSource& kept) { return kept.TakePage(address, point); });
}

void SignalStore::TakeNumber(const SignalSource& source, const absl::StatusOr<CounterPoint>& point,
                             const std::string& note) {
  Tell(source, point.ok() ? ReadAt(point->instant.at) : kFailed,
       [&](StoredSource& kept) { return kept.TakeNumber(point, note); });
}

SignalHistory SignalStore::Of(const SignalSource& source, const EngineQuestion& question,
                              absl::Time now, EngineFilter counts) const {
  std::shared_ptr<const StoredSource> kept;
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    if (found == sources_.end()) {
      const absl::Status refusal = RefusalOf(source.namespace_name);
      return NotKnown(FirstOf(generation_), now,
                      refusal.ok() ? absl::UnavailableError("not read yet") : refusal);
    }
    kept = found->second.source;
    if (found->second.given_up_at > 0) {
      return NotKnown(kept->Updates(counts).generation, now, NoMemoryFor(source.namespace_name));
    }
  }
  SignalHistory history = kept->Answer(question, now, limits_.longest_gap, counts);
  history.is_awaited = now - history.read_since < kFirstReading && IsOnItsWay(history);
  return history;
}

SignalVersion SignalStore::VersionOf(const SignalSource& source, EngineFilter counts) const {
  std::shared_ptr<const StoredSource> kept;
  {
    MutexLock lock(mutex_);
    const auto found = sources_.find(source);
    if (found == sources_.end()) return {.generation = FirstOf(generation_)};
    kept = found->second.source;
  }
  return kept->Updates(counts);
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

void AwaitNodes(absl::FunctionRef<bool(const std::string& node)> concerns, SignalHistory& history) {
  if (history.without == nullptr) return;
  const bool is_awaited = std::ranges::any_of(*history.without, [&](const WithoutEngine& without) {
    return without.is_awaited && concerns(without.node);
  });
  if (!is_awaited || !history.status.ok()) return;
  history.status = absl::UnavailableError("not looked for yet");
  history.is_awaited = history.now - history.read_since < kFirstReading;
}

}  // namespace gpuscaler
