#include "serve/trigger_cache.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "scaling/node_view.h"
#include "trigger/metadata_parser.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

constexpr size_t kMaxKeys = 256;
constexpr size_t kMaxBytes = size_t{64} << 10;
// The limits of Kubernetes.
constexpr size_t kLongestName = 253;
constexpr size_t kLongestNamespace = 63;
// 20,000 streams may each keep as much.
constexpr size_t kMaxIdleBytes = 1024;

size_t TextBytes(const externalscaler::ScaledObjectRef& ref) {
  size_t bytes = ref.name().size() + ref.namespace_().size();
  for (const auto& [key, value] : ref.scalermetadata()) bytes += key.size() + value.size();
  return bytes;
}

// The memory of the names and metadata. RE2 takes about as much for a podRegex.
size_t SizeOf(const externalscaler::ScaledObjectRef& ref) {
  constexpr size_t kMapNode = 32 + sizeof(Metadata::value_type);
  constexpr size_t kRegex = 1 << 10, kRegexLetter = 20;
  size_t bytes = TextBytes(ref);
  for (const auto& [key, value] : ref.scalermetadata()) {
    bytes += kMapNode;
    if (absl::EqualsIgnoreCase(key, "podRegex"))
      bytes += kRegex + kRegexLetter * std::min(value.size(), kLongestName);
  }
  return bytes;
}

// Protobuf's map has no defined order, so the hash is a sum, which does not depend on one.
size_t FingerprintOf(const externalscaler::ScaledObjectRef& ref) {
  size_t sum = absl::HashOf(ref.namespace_(), ref.name());
  for (const auto& [key, value] : ref.scalermetadata()) sum += absl::HashOf(key, value);
  return sum;
}

Metadata MetadataOf(const externalscaler::ScaledObjectRef& ref) {
  return Metadata(ref.scalermetadata().begin(), ref.scalermetadata().end());
}

ScaledObjectRef ScaledObjectOf(const externalscaler::ScaledObjectRef& ref,
                               const AllowedNamespaces& allowed) {
  ScaledObjectRef scaled_object{.namespace_name = ref.namespace_(), .name = ref.name()};
  const auto [first, last] = allowed.equal_range(ref.namespace_());
  for (auto pair = first; pair != last; ++pair)
    scaled_object.allowed_namespaces.push_back(pair->second);
  return scaled_object;
}

std::vector<std::string> NamespacesOf(const ScaledObjectRef& scaled_object) {
  std::vector<std::string> namespaces = scaled_object.allowed_namespaces;
  namespaces.push_back(scaled_object.namespace_name);
  return namespaces;
}

// Returns the keys as the metadata spells them, each once.
std::string BadKeys(const Metadata& metadata, const Profiles& profiles) {
  std::set<std::string> keys;
  for (const Fault& fault : ParseMetadata(metadata, profiles).faults) keys.insert(fault.key);
  return absl::StrJoin(keys, ",");
}

// Returns null if there is no source.
std::shared_ptr<const SignalSource> Shared(std::optional<SignalSource> source) {
  return source ? std::make_shared<const SignalSource>(*std::move(source)) : nullptr;
}

size_t BytesOf(const std::vector<std::string>& texts) {
  size_t bytes = texts.capacity() * sizeof(std::string);
  for (const std::string& text : texts) bytes += text.capacity();
  return bytes;
}

}  // namespace

size_t BytesOf(const Decision& decision) {
  size_t bytes = sizeof(decision) + decision.contributions.capacity() * sizeof(Contribution) +
                 decision.nodes.capacity() * sizeof(DecidedNode) + BytesOf(decision.notes) +
                 BytesOf(decision.unstarted) + decision.held_because.capacity() +
                 decision.status.message().size() + decision.active_because.capacity() +
                 decision.replicas_from.capacity() + decision.ambiguity.text.capacity();
  for (const Contribution& contribution : decision.contributions) {
    bytes += contribution.name.capacity() + contribution.because.capacity() +
             BytesOf(contribution.gpus) + BytesOf(contribution.nodes);
  }
  for (const DecidedNode& node : decision.nodes) bytes += node.name.capacity();
  if (decision.demand.has_value()) {
    bytes += decision.demand->unknown_because.capacity();
    for (const ReplicaCapacity& capacity : decision.demand->capacities) {
      bytes += sizeof(capacity) + capacity.gpu_model.capacity() + capacity.bound_by.capacity();
    }
  }
  return bytes;
}

// A trigger on engines without the workload scope counts all engines, so it needs no pods.
bool ParsedTrigger::NeedsNodes() const {
  const MetricOrigin origin = InfoOf(trigger->metric).origin;
  const bool is_workload_scope = trigger->scope == Scope::kWorkload;
  return origin == MetricOrigin::kGpu || (origin == MetricOrigin::kEngine && is_workload_scope);
}

TriggerEntry::TriggerEntry(const externalscaler::ScaledObjectRef& ref,
                           const AllowedNamespaces& allowed)
    : scaled_object_(ScaledObjectOf(ref, allowed)),
      namespaces_(NamespacesOf(scaled_object_)),
      metadata_(MetadataOf(ref)),
      size_bytes_(SizeOf(ref)) {}

bool TriggerEntry::IsFor(const externalscaler::ScaledObjectRef& ref) const {
  const auto& metadata = ref.scalermetadata();
  if (ref.name() != name() || ref.namespace_() != namespace_name()) return false;
  if (metadata.size() != metadata_.size()) return false;
  return std::ranges::all_of(metadata, [this](const auto& entry) {
    const auto known = metadata_.find(entry.first);
    return known != metadata_.end() && known->second == entry.second;
  });
}

TriggerEntry::ParseResult TriggerEntry::Parse(const ProfileStore::Current& profiles,
                                              SourceFor source_for) {
  if (auto known = parsed(profiles.version)) return {.parsed = std::move(known), .is_new = false};
  auto read = std::make_shared<ParsedTrigger>(
      ParsedTrigger{.profiles_version = profiles.version,
                    .trigger = ParseTrigger(metadata_, *profiles.profiles),
                    .bad_keys = "",
                    .spec = SpecOf(metadata_, *profiles.profiles),
                    .wanted = {.namespaces = namespaces_}});
  if (read->trigger.ok()) {
    read->wanted = PodsOfInterest(*read->trigger, scaled_object_);
    auto source = source_for(*read->trigger, scaled_object_);
    if (source.ok()) {
      read->source = Shared(*std::move(source));
      if (read->source != nullptr) {
        read->gateway = Shared(GatewayOf(*read->trigger, scaled_object_.namespace_name));
      }
      std::exchange(read->trigger->credentials, {});  // an assignment would keep their memory
    } else {
      read->trigger = source.status();
    }
  } else {
    read->bad_keys = BadKeys(metadata_, *profiles.profiles);
  }
  MutexLock lock(mutex_);
  // Another thread may have parsed it meanwhile.
  if (parsed_ != nullptr && parsed_->profiles_version >= profiles.version) {
    return {.parsed = parsed_, .is_new = false};
  }
  parsed_ = std::move(read);
  return {.parsed = parsed_, .is_new = true};
}

std::shared_ptr<const ParsedTrigger> TriggerEntry::parsed(int64_t profiles_version) const {
  MutexLock lock(mutex_);
  const bool is_current = parsed_ != nullptr && parsed_->profiles_version >= profiles_version;
  return is_current ? parsed_ : nullptr;
}

Evaluation TriggerEntry::Evaluate(DecisionPart part,
                                  const std::shared_ptr<const ParsedTrigger>& parsed,
                                  const FleetHistory& fleet, const StalenessLimits& staleness,
                                  const Observations* received) {
  const SignalHistory* const signals = received == nullptr ? nullptr : &received->history;
  const int64_t newest_signals = signals == nullptr ? 0 : signals->generation;
  const auto own = received == nullptr ? nullptr : received->own;
  MutexLock deciding(decide_mutex_);
  {
    MutexLock lock(mutex_);
    // Generations of all engines and of some of them cannot be compared.
    const bool compares = cached_ != nullptr && (cached_->own == nullptr) == (own == nullptr);
    const auto known = compares ? FindCached(part, *parsed, fleet, newest_signals) : std::nullopt;
    if (known) return *known;
  }
  Decision decided = Decide(*parsed->trigger, scaled_object_, fleet, signals, staleness);
  auto idle = IdleFastPath::Of(*parsed->trigger, fleet, staleness, decided);
  MutexLock lock(mutex_);
  if (std::string note = suggestion_.Note(); !note.empty())
    decided.notes.push_back(std::move(note));
  cached_ =
      std::make_shared<const CachedDecision>(CachedDecision{.sequence = ++decided_,
                                                            .generation = fleet.generation,
                                                            .signal_generation = newest_signals,
                                                            .own = own,
                                                            .parsed = parsed,
                                                            .decision = std::move(decided)});
  Evaluation evaluation = {
      .cached = cached_, .is_new = true, .active_until = cached_->decision.active_until};
  idle_.reset();
  if (idle) idle_ = {*std::move(idle), fleet.generation, fleet.now, evaluation.active_until};
  Count(BytesKept());
  if (is_uncounted_ || (counted_ != nullptr && counted_->total > counted_->most)) {
    KeepOnlyActivity();
    Count(BytesKept());
  }
  return evaluation;
}

size_t TriggerEntry::BytesKept() const {
  return BytesOf(cached_->decision) + (idle_ ? idle_->workload.size_bytes() : 0) +
         (cached_->own != nullptr ? cached_->own->size_bytes() : 0);
}

void TriggerEntry::KeepOnlyActivity() {
  if (cached_ == nullptr || !cached_->is_whole) return;
  auto slim = std::make_shared<CachedDecision>(*cached_);
  slim->is_whole = false;
  slim->decision.contributions = std::vector<Contribution>();
  slim->decision.nodes = std::vector<DecidedNode>();
  slim->decision.unstarted = decltype(slim->decision.unstarted)();
  slim->decision.notes = decltype(slim->decision.notes)();
  if (slim->own != nullptr && slim->own->size_bytes() > kMaxIdleBytes) {
    slim->own = nullptr;
    slim->signal_generation = -1;  // the next evaluation decides
  }
  cached_ = std::move(slim);
  if (idle_ && idle_->workload.size_bytes() > kMaxIdleBytes) idle_.reset();
}

std::shared_ptr<const CachedDecision> TriggerEntry::cached() const {
  MutexLock lock(mutex_);
  return cached_;
}

absl::Duration TriggerEntry::LookBackOf(const Trigger& trigger) const {
  MutexLock lock(mutex_);
  const absl::Duration own = LookBack(trigger);
  return cached_ == nullptr ? own : std::max(own, cached_->decision.look_back);
}

void TriggerEntry::DropCached() {
  MutexLock lock(mutex_);
  cached_ = nullptr;
  idle_.reset();
}

std::optional<Evaluation> TriggerEntry::EvaluateCached(
    DecisionPart part, const ParsedTrigger& parsed, const FleetHistory& fleet,
    const std::shared_ptr<const CachedDecision>& cached, int64_t signal_generation) {
  MutexLock lock(mutex_);
  if (cached_ == nullptr || cached_ != cached) return std::nullopt;
  return FindCached(part, parsed, fleet, signal_generation);
}

std::optional<Evaluation> TriggerEntry::FindCached(DecisionPart part, const ParsedTrigger& parsed,
                                                   const FleetHistory& fleet,
                                                   int64_t newest_signals) {
  if (cached_->IsValidFor(part, parsed, fleet, newest_signals)) {
    return Evaluation{.cached = cached_, .active_until = cached_->decision.active_until};
  }
  if (part != DecisionPart::kActivity) return std::nullopt;
  const auto idle_until = IdleUntil(parsed, fleet, newest_signals);
  if (!idle_until) return std::nullopt;
  return Evaluation{.cached = cached_, .active_until = *idle_until};
}

std::optional<absl::Time> TriggerEntry::IdleUntil(const ParsedTrigger& parsed,
                                                  const FleetHistory& fleet,
                                                  int64_t newest_signals) {
  if (!idle_ || cached_->parsed->profiles_version < parsed.profiles_version) return std::nullopt;
  if (cached_->signal_generation < newest_signals) return std::nullopt;
  const bool older = fleet.generation < idle_->generation || fleet.now < idle_->at;
  if (older) return idle_->until;
  const std::optional<absl::Time> until = idle_->workload.InactiveUntil(fleet);
  if (!until) {
    idle_.reset();
    return until;
  }
  idle_->generation = fleet.generation;
  idle_->at = fleet.now;
  idle_->until = *until;
  return until;
}

void TriggerEntry::Count(size_t decision_bytes) {
  // Wraps, to the right sum.
  if (counted_ != nullptr) counted_->total += decision_bytes - decision_bytes_;
  decision_bytes_ = decision_bytes;
}

void TriggerEntry::CountIn(std::shared_ptr<DecisionBytes> bytes) {
  MutexLock lock(mutex_);
  counted_ = std::move(bytes);
  counted_->total += decision_bytes_;
}

void TriggerEntry::Uncount() {
  MutexLock lock(mutex_);
  if (counted_ != nullptr) counted_->total -= decision_bytes_;
  counted_ = nullptr;
  is_uncounted_ = true;
  KeepOnlyActivity();
}

bool CachedDecision::IsValidFor(DecisionPart part, const ParsedTrigger& now,
                                const FleetHistory& fleet, int64_t newest_signals) const {
  const bool only_activity = part == DecisionPart::kActivity;
  if (!is_whole && !only_activity) return false;
  if (parsed->profiles_version < now.profiles_version) return false;
  if (generation < fleet.generation || signal_generation < newest_signals) return false;
  if (generation > fleet.generation || signal_generation > newest_signals) return true;
  return fleet.now < (only_activity ? decision.active_until : decision.valid_until);
}

absl::Time TriggerEntry::LeaseFrom(absl::Time now, absl::Duration expected_gap) {
  MutexLock lock(mutex_);
  const absl::Duration lease = 3 * std::max(longest_gap_.Record(now), expected_gap);
  lease_.requested_at = now;
  lease_.until = std::max(lease_.until, now + std::clamp(lease, kShortestLease, kLongestLease));
  return lease_.until;
}

TriggerEntry::Lease TriggerEntry::lease() const {
  MutexLock lock(mutex_);
  return lease_;
}

std::shared_ptr<TriggerEntry> TriggerCache::Get(const externalscaler::ScaledObjectRef& ref) {
  const size_t fingerprint = FingerprintOf(ref);
  MutexLock lock(mutex_);
  const auto found = by_fingerprint_.find(fingerprint);
  if (found != by_fingerprint_.end()) {
    const Slots::iterator slot = found->second;
    if (slot->trigger->IsFor(ref)) {
      slots_.splice(slots_.begin(), slots_, slot);
      DropOldest();
      return slot->trigger;
    }
    Drop(slot);
  }
  slots_.push_front({fingerprint, std::make_shared<TriggerEntry>(ref, allowed_)});
  by_fingerprint_[fingerprint] = slots_.begin();
  bytes_ += slots_.front().trigger->size_bytes();
  slots_.front().trigger->CountIn(decision_bytes_);
  DropOldest();
  return slots_.front().trigger;
}

std::vector<std::shared_ptr<TriggerEntry>> TriggerCache::All() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<TriggerEntry>> all;
  all.reserve(slots_.size());
  for (const Slot& slot : slots_) all.push_back(slot.trigger);
  return all;
}

// The trigger that was used last stays.
void TriggerCache::DropOldest() {
  while (slots_.size() > 1 &&
         (slots_.size() > limits_.triggers || bytes_ + decision_bytes_->total > limits_.bytes)) {
    Drop(std::prev(slots_.end()));
  }
}

void TriggerCache::Drop(Slots::iterator slot) {
  bytes_ -= slot->trigger->size_bytes();
  slot->trigger->Uncount();  // streams may hold it
  by_fingerprint_.erase(slot->fingerprint);
  slots_.erase(slot);
}

absl::Status CheckSize(const externalscaler::ScaledObjectRef& ref) {
  if (static_cast<size_t>(ref.scalermetadata_size()) > kMaxKeys) {
    return absl::InvalidArgumentError(
        absl::StrCat("metadata has ", ref.scalermetadata_size(), " keys, at most ", kMaxKeys));
  }
  const size_t bytes = TextBytes(ref);
  if (bytes <= kMaxBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("metadata has ", bytes, " bytes, at most ", kMaxBytes));
}

absl::Status CheckRef(const externalscaler::ScaledObjectRef& ref) {
  if (absl::Status size = CheckSize(ref); !size.ok()) return size;
  if (ref.name().size() > kLongestName || ref.namespace_().size() > kLongestNamespace) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the scaledObjectRef's name has ", ref.name().size(), " characters, at most ", kLongestName,
        ", its namespace ", ref.namespace_().size(), ", at most ", kLongestNamespace));
  }
  if (!ref.name().empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("the scaledObjectRef has no name: use the ScaledObject's");
}

}  // namespace gpuscaler
