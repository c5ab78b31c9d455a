#include "serve/trigger_cache.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "trigger/trigger_reading.h"

namespace gpuscaler {
namespace {

using externalscaler::ScaledObjectRef;

constexpr size_t kMostKeys = 256;
constexpr size_t kMostBytes = size_t{64} << 10;

size_t SizeOf(const ScaledObjectRef& ref) {
  size_t bytes = ref.name().size() + ref.namespace_().size();
  for (const auto& [key, value] : ref.scalermetadata()) bytes += key.size() + value.size();
  return bytes;
}

// Protobuf's map has no order of its own: the sum does not depend on it.
size_t FingerprintOf(const ScaledObjectRef& ref) {
  size_t sum = absl::HashOf(ref.namespace_(), ref.name());
  for (const auto& [key, value] : ref.scalermetadata()) sum += absl::HashOf(key, value);
  return sum;
}

Metadata MetadataOf(const ScaledObjectRef& ref) {
  return Metadata(ref.scalermetadata().begin(), ref.scalermetadata().end());
}

Asker AskerOf(const ScaledObjectRef& ref, const AllowedNamespaces& allowed) {
  Asker asker{.namespace_name = ref.namespace_(), .name = ref.name()};
  const auto [first, last] = allowed.equal_range(ref.namespace_());
  for (auto pair = first; pair != last; ++pair) asker.opened.push_back(pair->second);
  return asker;
}

std::vector<std::string> NamespacesOf(const Asker& asker) {
  std::vector<std::string> namespaces = asker.opened;
  namespaces.push_back(asker.namespace_name);
  return namespaces;
}

// As the metadata spells them, each once.
std::string BadKeys(const Metadata& metadata, const Profiles& profiles) {
  std::set<std::string> keys;
  for (const Fault& fault : ReadMetadata(metadata, profiles).faults) keys.insert(fault.key);
  return absl::StrJoin(keys, ",");
}

size_t BytesOf(const std::vector<std::string>& texts) {
  size_t bytes = texts.capacity() * sizeof(std::string);
  for (const std::string& text : texts) bytes += text.capacity();
  return bytes;
}

}  // namespace

size_t BytesOf(const Decision& decision) {
  size_t bytes = sizeof(decision) + decision.shares.capacity() * sizeof(ReplicaShare) +
                 decision.nodes.capacity() * sizeof(DecidedNode) + BytesOf(decision.notes) +
                 decision.status.message().size() + decision.active_because.capacity() +
                 decision.replicas_from.capacity() + decision.doubt.text.capacity();
  for (const ReplicaShare& share : decision.shares) {
    bytes += share.name.capacity() + share.because.capacity() + BytesOf(share.gpus) +
             BytesOf(share.nodes);
  }
  for (const DecidedNode& node : decision.nodes) bytes += node.name.capacity();
  return bytes;
}

// Engines of no workload's are all there are, whoever's pods they run in.
bool ParsedTrigger::NeedsNodes() const {
  const MetricOrigin origin = InfoOf(trigger->metric).origin;
  const bool of_workload = trigger->scope == Scope::kWorkload;
  return origin == MetricOrigin::kGpu || (origin == MetricOrigin::kEngine && of_workload);
}

CachedTrigger::CachedTrigger(const ScaledObjectRef& ref, const AllowedNamespaces& allowed)
    : asker_(AskerOf(ref, allowed)),
      namespaces_(NamespacesOf(asker_)),
      metadata_(MetadataOf(ref)),
      size_bytes_(SizeOf(ref)) {}

bool CachedTrigger::IsFor(const ScaledObjectRef& ref) const {
  const auto& metadata = ref.scalermetadata();
  if (ref.name() != name() || ref.namespace_() != namespace_name()) return false;
  if (metadata.size() != metadata_.size()) return false;
  return std::ranges::all_of(metadata, [this](const auto& asked) {
    const auto known = metadata_.find(asked.first);
    return known != metadata_.end() && known->second == asked.second;
  });
}

CachedTrigger::Parsing CachedTrigger::Parse(const ProfileStore::Current& profiles,
                                            SourceFor source_for) {
  MutexLock lock(mutex_);
  if (parsed_ != nullptr && parsed_->profiles_version >= profiles.version) {
    return {.parsed = parsed_, .is_new = false};
  }
  auto parsed = std::make_shared<ParsedTrigger>(
      ParsedTrigger{.profiles_version = profiles.version,
                    .trigger = ParseTrigger(metadata_, *profiles.profiles),
                    .bad_keys = "",
                    .spec = SpecOf(metadata_, *profiles.profiles),
                    .wanted = {.namespaces = namespaces_}});
  if (parsed->trigger.ok()) {
    parsed->wanted = WantedPods(*parsed->trigger, asker_);
    auto source = source_for(*parsed->trigger, asker_);
    if (source.ok()) {
      parsed->source = *std::move(source);
    } else {
      parsed->trigger = source.status();
    }
  } else {
    parsed->bad_keys = BadKeys(metadata_, *profiles.profiles);
  }
  parsed_ = std::move(parsed);
  return {.parsed = parsed_, .is_new = true};
}

Judgement CachedTrigger::Judge(Question question,
                               const std::shared_ptr<const ParsedTrigger>& parsed,
                               const FleetHistory& fleet, const Patience& patience,
                               const Heard* heard) {
  const SignalHistory* const signals = heard == nullptr ? nullptr : &heard->history;
  const int64_t of_signals = signals == nullptr ? 0 : signals->generation;
  const auto own = heard == nullptr ? nullptr : heard->own;
  MutexLock lock(mutex_);
  // Of all engines and of some, generations do not compare.
  const bool compares = verdict_ != nullptr && (verdict_->own == nullptr) == (own == nullptr);
  const auto known = compares ? Known(question, *parsed, fleet, of_signals) : std::nullopt;
  if (known) return *known;
  verdict_ = std::make_shared<const Verdict>(
      Verdict{.generation = fleet.generation,
              .signal_generation = of_signals,
              .own = own,
              .parsed = parsed,
              .decision = Decide(*parsed->trigger, asker_, fleet, signals, patience)});
  const Decision& decision = verdict_->decision;
  auto quiet = QuietWorkload::Of(*parsed->trigger, fleet, patience, decision);
  Count(BytesOf(decision) + (quiet ? quiet->size_bytes() : 0) + (own ? own->size_bytes() : 0));
  quiet_.reset();
  if (quiet) quiet_ = {*std::move(quiet), fleet.generation, fleet.now, decision.active_until};
  return {.verdict = verdict_, .is_new = true, .active_until = decision.active_until};
}

std::shared_ptr<const Verdict> CachedTrigger::verdict() const {
  MutexLock lock(mutex_);
  return verdict_;
}

std::optional<Judgement> CachedTrigger::Standing(Question question, const ParsedTrigger& parsed,
                                                 const FleetHistory& fleet,
                                                 const std::shared_ptr<const Verdict>& verdict,
                                                 int64_t signal_generation) {
  MutexLock lock(mutex_);
  if (verdict_ == nullptr || verdict_ != verdict) return std::nullopt;
  return Known(question, parsed, fleet, signal_generation);
}

std::optional<Judgement> CachedTrigger::Known(Question question, const ParsedTrigger& parsed,
                                              const FleetHistory& fleet, int64_t of_signals) {
  if (verdict_->IsRight(question, parsed, fleet, of_signals)) {
    return Judgement{.verdict = verdict_, .active_until = verdict_->decision.active_until};
  }
  if (question != Question::kActivity) return std::nullopt;
  const auto quiet_until = QuietUntil(parsed, fleet, of_signals);
  if (!quiet_until) return std::nullopt;
  return Judgement{.verdict = verdict_, .active_until = *quiet_until};
}

std::optional<absl::Time> CachedTrigger::QuietUntil(const ParsedTrigger& parsed,
                                                    const FleetHistory& fleet, int64_t of_signals) {
  if (!quiet_ || verdict_->parsed->profiles_version < parsed.profiles_version) return std::nullopt;
  if (verdict_->signal_generation < of_signals) return std::nullopt;
  const bool older = fleet.generation < quiet_->generation || fleet.now < quiet_->at;
  if (older) return quiet_->until;
  const std::optional<absl::Time> until = quiet_->workload.StandsOn(fleet);
  if (!until) {
    quiet_.reset();
    return until;
  }
  quiet_->generation = fleet.generation;
  quiet_->at = fleet.now;
  quiet_->until = *until;
  return until;
}

void CachedTrigger::Count(size_t verdict_bytes) {
  MutexLock lock(count_mutex_);
  if (total_ != nullptr) *total_ += verdict_bytes - verdict_bytes_;  // wraps, to the right sum
  verdict_bytes_ = verdict_bytes;
}

void CachedTrigger::CountIn(std::shared_ptr<std::atomic<size_t>> total) {
  MutexLock lock(count_mutex_);
  total_ = std::move(total);
  *total_ += verdict_bytes_;
}

void CachedTrigger::Uncount() {
  MutexLock lock(count_mutex_);
  if (total_ != nullptr) *total_ -= verdict_bytes_;
  total_ = nullptr;
}

bool Verdict::IsRight(Question question, const ParsedTrigger& now, const FleetHistory& fleet,
                      int64_t of_signals) const {
  if (parsed->profiles_version < now.profiles_version) return false;
  if (generation < fleet.generation || signal_generation < of_signals) return false;
  if (generation > fleet.generation || signal_generation > of_signals) return true;
  const bool of_activity = question == Question::kActivity;
  return fleet.now < (of_activity ? decision.active_until : decision.valid_until);
}

absl::Time CachedTrigger::LeaseFrom(absl::Time now) {
  MutexLock lock(mutex_);
  const absl::Duration lease = 3 * longest_gap_.Ask(now);
  lease_until_ = std::max(lease_until_, now + std::clamp(lease, kShortestLease, kLongestLease));
  return lease_until_;
}

std::shared_ptr<CachedTrigger> TriggerCache::Get(const ScaledObjectRef& ref) {
  const size_t fingerprint = FingerprintOf(ref);
  MutexLock lock(mutex_);
  const auto found = by_fingerprint_.find(fingerprint);
  if (found != by_fingerprint_.end()) {
    const Entries::iterator entry = found->second;
    if (entry->trigger->IsFor(ref)) {
      entries_.splice(entries_.begin(), entries_, entry);
      DropOldest();
      return entry->trigger;
    }
    Drop(entry);
  }
  entries_.push_front({fingerprint, std::make_shared<CachedTrigger>(ref, allowed_)});
  by_fingerprint_[fingerprint] = entries_.begin();
  bytes_ += entries_.front().trigger->size_bytes();
  entries_.front().trigger->CountIn(verdict_bytes_);
  DropOldest();
  return entries_.front().trigger;
}

// The one that was asked last stays.
void TriggerCache::DropOldest() {
  while (entries_.size() > 1 &&
         (entries_.size() > limits_.triggers || bytes_ + *verdict_bytes_ > limits_.bytes)) {
    Drop(std::prev(entries_.end()));
  }
}

void TriggerCache::Drop(Entries::iterator entry) {
  bytes_ -= entry->trigger->size_bytes();
  entry->trigger->Uncount();
  by_fingerprint_.erase(entry->fingerprint);
  entries_.erase(entry);
}

absl::Status CheckSize(const ScaledObjectRef& ref) {
  if (static_cast<size_t>(ref.scalermetadata_size()) > kMostKeys) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata has ", ref.scalermetadata_size(), " keys, at most ", kMostKeys));
  }
  const size_t bytes = SizeOf(ref);
  if (bytes <= kMostBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("metadata has ", bytes, " bytes, at most ", kMostBytes));
}

absl::Status CheckRef(const ScaledObjectRef& ref) {
  if (absl::Status size = CheckSize(ref); !size.ok()) return size;
  if (!ref.name().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("the scaledObjectRef has no name: use the ScaledObject's");
}

}  // namespace gpuscaler
