// The aggregator's parser of engine readings from untrusted agents.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "fleet/engine_update_reader.h"
#include "fleet/engine_wire.h"
#include "fleet/gpu_wire.h"
#include "fleet/telemetry_wire.h"
#include "fleet/wire_text.h"
#include "fuzz_assert.h"
#include "message_mutator.h"

namespace gpuscaler {
namespace {

using telemetry::v1::EngineTelemetry;

bool IsText(const std::string& text) {
  return text.size() <= kLongestText && !HasControl(text) && IsUtf8(text);
}

// NaN means that the agent sent an impossible number.
bool CanBe(std::optional<double> number) {
  return !number || std::isnan(*number) || (*number >= 0 && *number <= 1e15);
}

void CheckModel(const ModelReading& model) {
  FUZZ_ASSERT(IsText(model.model));
  FUZZ_ASSERT(CanBe(model.waiting) && CanBe(model.running) && CanBe(model.limit));
  FUZZ_ASSERT(CanBe(model.kv_cache_usage_ratio) && !(model.kv_cache_usage_ratio.value_or(0) > 1));
  for (const ModelNumber counter : kModelCounters) FUZZ_ASSERT(CanBe(model.*counter));
  for (const ModelHistogram field : kModelHistograms) {
    const auto& histogram = model.*field;
    if (!histogram.has_value() || histogram->buckets.empty()) continue;
    FUZZ_ASSERT(std::isinf(histogram->buckets.back().not_above));
    FUZZ_ASSERT(std::ranges::is_sorted(histogram->buckets, {}, &Histogram::Bucket::not_above));
    FUZZ_ASSERT(std::ranges::is_sorted(histogram->buckets, {}, &Histogram::Bucket::count));
  }
}

// A plausible record must be sent on as it came. Times are never later than `now`, and a decoder
// ignores sums of later versions, the time of no limit, and answers without a count.
void CheckSentOn(telemetry::v1::LearntEngine came, const telemetry::v1::LearntEngine& sent,
                 absl::Time now) {
  came.mutable_service()->Truncate(9);
  came.set_read_us(std::min(came.read_us(), ToWire(now)));
  came.set_answered_us(std::min(came.answered_us(), ToWire(now)));
  came.set_limit_us(std::min(came.limit_us(), ToWire(now)));
  if (!came.has_learnt_limit()) came.clear_limit_us();
  if (!(came.answers() > 0)) {
    came.clear_answers();
    came.clear_answer_tokens();
    came.clear_answered_us();
  }
  FUZZ_ASSERT(sent.SerializeAsString() == came.SerializeAsString());
}

// A decoded reading must stay the same when it is sent on.
void CheckReading(const telemetry::v1::EngineReading& came, absl::Time now) {
  const EngineUpdate update = DecodeEngine(came, {.latest = now});
  const telemetry::v1::EngineReading sent = EncodeEngine(came.id(), update);
  const telemetry::v1::EngineReading again =
      EncodeEngine(came.id(), DecodeEngine(sent, WriterClock()));
  FUZZ_ASSERT(again.SerializeAsString() == sent.SerializeAsString());
  FUZZ_ASSERT(sent.engine() == came.engine() && sent.failed() == came.failed());
  if (sent.has_learnt()) CheckSentOn(came.learnt(), sent.learnt(), now);
  if (!update.reading.ok()) {
    FUZZ_ASSERT(IsText(sent.failed()));
    return;
  }
  for (const ModelReading& model : update.reading->models) CheckModel(model);
  FUZZ_ASSERT(std::ranges::equal(sent.models(), came.models(), {},
                                 &telemetry::v1::EngineModel::name,
                                 &telemetry::v1::EngineModel::name));
}

// So must the record of an engine that left.
void CheckLeft(const telemetry::v1::LeftEngine& came, absl::Time now) {
  const auto record = DecodeLeft(came, {.latest = now});
  if (record == nullptr) return;
  telemetry::v1::LeftEngine sent;
  EncodeLeft(*record, sent);
  CheckSentOn(came.learnt(), sent.learnt(), now);
  FUZZ_ASSERT(sent.address() == came.address() && sent.port() == came.port());
  FUZZ_ASSERT(sent.engine() == came.engine());
  FUZZ_ASSERT(DecodePod(sent.pod(), WriterClock()) == DecodePod(came.pod(), {.latest = now}));
}

class Aggregator {
 public:
  Aggregator() {
    FUZZ_ASSERT(store_.Lease(source_, query_, now_, now_ + absl::Hours(1)).ok());
    found_.SetNodes(found_.Subscription(now_), {"gpu-7"}, now_);
  }

  void Read(EngineTelemetry& message) {
    now_ += absl::Seconds(1);
    const absl::Status status = reader_.Read(message, now_);
    if (!status.ok()) {
      FUZZ_ASSERT(absl::IsInvalidArgument(status) && !status.message().empty());
      reader_.Begin();  // as after a reconnect
      return;
    }
    for (const telemetry::v1::EngineReading& reading : message.readings()) {
      CheckReading(reading, now_);
    }
    for (const telemetry::v1::LeftEngine& left : message.list().left()) CheckLeft(left, now_);
    CheckSignals();
  }

 private:
  void CheckSignals() const {
    for (const SignalSeries& series : store_.HistoryOf(source_, query_, now_).series) {
      FUZZ_ASSERT(!HasControl(series.pod) && !HasControl(series.address) &&
                  !HasControl(series.engine));
      FUZZ_ASSERT(series.namespace_name == source_.namespace_name && IsText(series.error));
      FUZZ_ASSERT(std::ranges::is_sorted(series.points, {}, &SignalPoint::at));
      for (const SignalPoint& point : series.points) {
        FUZZ_ASSERT(point.at <= now_ && (!point.value || *point.value >= 0));
      }
    }
  }

  const SignalSource source_ = {.namespace_name = "team-a", .target = DiscoveredEngines()};
  const EngineQuery query_ = {.metric = EngineMetric::kPressurePercent,
                              .window = absl::Seconds(15),
                              .look_back = absl::Minutes(5),
                              .demand_window = absl::Minutes(15)};
  absl::Time now_ = absl::FromUnixSeconds(1'767'225'600);
  SignalStore store_{{.max_gap = absl::Seconds(10)}, [] {}};
  FoundEngines found_{store_};
  EngineUpdateReader reader_{"gpu-7", found_};
};

}  // namespace
}  // namespace gpuscaler

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return gpuscaler::MutateMessages<gpuscaler::telemetry::v1::EngineTelemetry>(data, size, max_size,
                                                                              seed);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuscaler::Aggregator aggregator;
  for (auto& message : gpuscaler::MessagesIn<gpuscaler::telemetry::v1::EngineTelemetry>(
           {reinterpret_cast<const char*>(data), size})) {
    aggregator.Read(message);
  }
  return 0;
}
