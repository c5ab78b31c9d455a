#include "fleet/telemetry_wire.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// 16 GPUs of 7 MIG instances are 128.
constexpr int kMaxGpus = 1024;

// Idle GPUs flicker by less, so that an idle fleet sends nothing. The reference is the last sent
// value, so the error never exceeds this.
constexpr double kDeadbandWatts = 2;
constexpr double kDeadbandCelsius = 1;

void ApplyDeadband(const std::optional<double>& sent, double within, std::optional<double>& value) {
  if (sent && value && std::abs(*value - *sent) <= within) value = sent;
}

bool HasSameGpus(const NodeSnapshot& a, const NodeSnapshot& b) {
  return std::ranges::equal(a.gpus, b.gpus, &IsSameGpu);
}

void ApplyDeadband(const NodeSnapshot& sent, NodeSnapshot& snapshot) {
  if (!HasSameGpus(sent, snapshot)) return;
  std::vector<GpuSample>& gpus = snapshot.gpus.Own();
  for (size_t i = 0; i < gpus.size(); ++i) {
    const GpuSample& before = sent.gpus[i];
    GpuSample& gpu = gpus[i];
    ApplyDeadband(before.power_watts, kDeadbandWatts, gpu.power_watts);
    ApplyDeadband(before.temperature_celsius, kDeadbandCelsius, gpu.temperature_celsius);
  }
}

constexpr std::array<std::pair<Attribution::State, wire::Attribution::State>, 3> kStates = {{
    {Attribution::State::kNone, wire::Attribution::NONE},
    {Attribution::State::kKnown, wire::Attribution::KNOWN},
    {Attribution::State::kUnknown, wire::Attribution::UNKNOWN},
}};

void EncodeAttribution(const Attribution& attribution, wire::Attribution& message) {
  message.set_state(ToWireEnum(kStates, attribution.state));
  message.set_why(attribution.why);
}

Attribution DecodeAttribution(const wire::Attribution& message) {
  if (const auto state = FromWireEnum(kStates, message.state())) {
    return {.state = *state, .why = message.why()};
  }
  return {.state = Attribution::State::kUnknown,
          .why = absl::StrCat("its agent is newer and reports state ", message.state())};
}

void EncodePods(const std::vector<Pod>& pods, wire::Pods& message) {
  for (const Pod& pod : pods) EncodePod(pod, *message.add_pods());
}

std::vector<Pod> DecodePods(const wire::Pods& message, const WriterClock& clock) {
  std::vector<Pod> pods;
  pods.reserve(static_cast<size_t>(message.pods_size()));
  for (const wire::Pod& pod : message.pods()) pods.push_back(DecodePod(pod, clock));
  return pods;
}

absl::Status CheckHolders(const NodeSnapshot& snapshot) {
  const auto pods = static_cast<int>(snapshot.pods.size());
  for (const GpuSample& gpu : snapshot.gpus) {
    for (const GpuHolder& holder : gpu.holders) {
      if (holder.pod >= 0 && holder.pod < pods) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(gpu.uuid, " is held by pod ", holder.pod, " of ", pods));
    }
  }
  return absl::OkStatus();
}

}  // namespace

void EncodePod(const Pod& pod, wire::Pod& added) {
  added.set_namespace_name(pod.namespace_name);
  added.set_name(pod.name);
  added.set_uid(pod.uid);
  added.set_owners_from(pod.owners_from == Pod::OwnersFrom::kReferences ? wire::Pod::REFERENCES
                                                                        : wire::Pod::NAME);
  if (pod.ready) added.set_ready(*pod.ready);
  if (pod.is_terminating) added.set_is_ending(*pod.is_terminating);
  added.set_was_ready(pod.was_ready);
  added.set_address(pod.address);
  if (pod.listed_since) added.set_listed_since_us(ToWire(*pod.listed_since));
  if (pod.owner_listed_since) added.set_owner_listed_since_us(ToWire(*pod.owner_listed_since));
  for (const PodOwner& owner : pod.owners) {
    wire::Owner& added_owner = *added.add_owners();
    added_owner.set_kind(owner.kind);
    added_owner.set_name(owner.name);
    added_owner.set_group(owner.group);
  }
}

Pod DecodePod(const wire::Pod& pod, const WriterClock& clock) {
  Pod decoded{.namespace_name = pod.namespace_name(), .name = pod.name(), .uid = pod.uid()};
  // A source that only newer agents have counts as a name.
  if (pod.owners_from() == wire::Pod::REFERENCES) {
    decoded.owners_from = Pod::OwnersFrom::kReferences;
  }
  if (pod.has_ready()) decoded.ready = pod.ready();
  if (pod.has_is_ending()) decoded.is_terminating = pod.is_ending();
  decoded.was_ready = pod.was_ready();
  decoded.address = pod.address();
  if (pod.has_listed_since_us()) decoded.listed_since = clock.ReaderTime(pod.listed_since_us());
  if (pod.has_owner_listed_since_us()) {
    decoded.owner_listed_since = clock.ReaderTime(pod.owner_listed_since_us());
  }
  for (const wire::Owner& owner : pod.owners()) {
    decoded.owners.push_back({.kind = owner.kind(), .name = owner.name(), .group = owner.group()});
  }
  return decoded;
}

std::optional<wire::Reading> ReadingEncoder::Encode(const NodeSnapshot& read) {
  NodeSnapshot snapshot = read;
  if (last_) ApplyDeadband(*last_, snapshot);
  wire::Reading reading;
  if (!last_ || !HasSameGpus(*last_, snapshot)) {
    reading = WholeReading(snapshot);
  } else {
    const std::vector<GpuSample>& before = last_->gpus;
    const std::vector<GpuSample>& gpus = snapshot.gpus;
    for (size_t place = 0; place < gpus.size(); ++place) {
      wire::Gpu& gpu = *reading.add_gpus();
      if (EncodeGpuChange(before[place], gpus[place], snapshot.taken_at, gpu)) {
        gpu.set_place(static_cast<uint32_t>(place));
      } else {
        reading.mutable_gpus()->RemoveLast();
      }
    }
    if (snapshot.attribution != last_->attribution) {
      EncodeAttribution(snapshot.attribution, *reading.mutable_attribution());
    }
    if (snapshot.pods != last_->pods) EncodePods(snapshot.pods, *reading.mutable_pods());
  }
  const bool is_after_outage =
      last_ && snapshot.taken_at - last_->taken_at > kLongestBetweenReadings;
  const bool is_changed = reading.ByteSizeLong() > 0 || is_after_outage;
  if (is_changed) {
    reading.set_taken_us(ToWire(snapshot.taken_at));
    if (last_ && last_->taken_at != encoded_at_) {
      reading.set_before_until_us(ToWire(last_->taken_at));
    }
    encoded_at_ = snapshot.taken_at;
  }
  last_ = std::move(snapshot);
  if (!is_changed) return std::nullopt;
  return reading;
}

wire::Reading WholeReading(const NodeSnapshot& snapshot) {
  wire::Reading reading;
  reading.set_taken_us(ToWire(snapshot.taken_at));
  reading.set_whole(true);
  for (size_t place = 0; place < snapshot.gpus.size(); ++place) {
    wire::Gpu& gpu = *reading.add_gpus();
    gpu.set_place(static_cast<uint32_t>(place));
    EncodeGpu(snapshot.gpus[place], gpu);
  }
  EncodeAttribution(snapshot.attribution, *reading.mutable_attribution());
  EncodePods(snapshot.pods, *reading.mutable_pods());
  return reading;
}

void ReadingDecoder::SetNode(const wire::Node& node) { node_ = node; }

absl::StatusOr<NodeSnapshot> ReadingDecoder::Decode(const wire::Reading& reading,
                                                    const WriterClock& clock) {
  if (reading.gpus_size() > kMaxGpus) {
    return absl::InvalidArgumentError(
        absl::StrCat("a reading of ", reading.gpus_size(), " GPUs, at most ", kMaxGpus));
  }
  if (reading.has_before_until_us()) {
    Unchanged(reading.before_until_us(), clock);
  }
  NodeSnapshot snapshot;
  if (reading.whole()) {
    std::vector<GpuSample>& gpus = snapshot.gpus.Own();
    for (const wire::Gpu& gpu : reading.gpus()) gpus.push_back(DecodeGpu(gpu, clock));
    snapshot.taken_at = TakenAt(reading, clock);
  } else {
    if (!last_) return absl::InvalidArgumentError("the first reading is not whole");
    snapshot = Last();
    RETURN_IF_ERROR(ApplyChange(reading, clock, snapshot));
  }
  if (reading.has_attribution()) snapshot.attribution = DecodeAttribution(reading.attribution());
  if (reading.has_pods()) snapshot.pods = DecodePods(reading.pods(), clock);
  RETURN_IF_ERROR(CheckHolders(snapshot));
  snapshot.node = node_.name();
  snapshot.source = node_.source();
  snapshot.driver_version = node_.driver_version();
  snapshot.read_every = absl::Milliseconds(node_.read_every_ms());
  weight_ = StoredWeightOf(last_ ? &*last_ : nullptr, snapshot);
  last_ = snapshot;
  is_memory_late_ = false;
  last_us_ = std::max(last_us_, reading.taken_us());
  return snapshot;
}

absl::Time ReadingDecoder::TakenAt(const wire::Reading& reading, const WriterClock& clock) const {
  const absl::Time at = clock.ReaderTime(reading.taken_us());
  if (!last_) return at;
  const bool is_later = reading.taken_us() > last_us_;
  return std::max(at, last_->taken_at + absl::Microseconds(is_later ? 1 : 0));
}

absl::Status ReadingDecoder::ApplyChange(const wire::Reading& reading, const WriterClock& clock,
                                         NodeSnapshot& snapshot) const {
  snapshot.taken_at = TakenAt(reading, clock);
  std::vector<GpuSample>& gpus = snapshot.gpus.Own();
  std::vector<bool> memory_sent(gpus.size());
  for (const wire::Gpu& gpu : reading.gpus()) {
    if (gpu.place() >= gpus.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a reading of GPU ", gpu.place(), " of ", gpus.size(), ", counted from 0"));
    }
    DecodeGpuChange(gpu, clock, gpus[gpu.place()]);
    memory_sent[gpu.place()] = gpu.has_steady_memory();
  }
  for (size_t place = 0; place < gpus.size(); ++place) {
    if (memory_sent[place]) continue;
    gpus[place].steady_memory = ExpectedMemory(last_->gpus[place], gpus[place], snapshot.taken_at);
  }
  return absl::OkStatus();
}

std::optional<absl::Time> ReadingDecoder::Unchanged(int64_t until_us, const WriterClock& clock) {
  if (!last_) return std::nullopt;
  last_us_ = std::max(last_us_, until_us);
  const absl::Time until = clock.ReaderTime(until_us);
  if (until <= last_->taken_at) return std::nullopt;
  last_->taken_at = until;
  is_memory_late_ = true;
  return until;
}

const NodeSnapshot& ReadingDecoder::Last() {
  if (std::exchange(is_memory_late_, false)) {
    for (GpuSample& gpu : last_->gpus.Own()) {
      gpu.steady_memory = ExpectedMemory(gpu, gpu, last_->taken_at);
    }
  }
  return *last_;
}

wire::Node NodeOf(const NodeSnapshot& snapshot) {
  wire::Node node;
  node.set_name(snapshot.node);
  node.set_source(snapshot.source);
  node.set_driver_version(snapshot.driver_version);
  node.set_read_every_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(snapshot.read_every)));
  return node;
}

}  // namespace gpuscaler
