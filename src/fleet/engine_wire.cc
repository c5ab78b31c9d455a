#include "fleet/engine_wire.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "fleet/telemetry_wire.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

constexpr double kImplausible = std::numeric_limits<double>::quiet_NaN();

// Tokens of a thousand years, and exact in a double.
constexpr double kMaxCount = 1e15;

struct WireNumber {
  ModelNumber number;
  bool (wire::EngineModel::*has)() const;
  double (wire::EngineModel::*get)() const;
  void (wire::EngineModel::*set)(double);
  double most;
};

// The number has one name in both forms.
#define MODEL_NUMBER(number, most)                                                       \
  {                                                                                      \
    &ModelReading::number, &wire::EngineModel::has_##number, &wire::EngineModel::number, \
        &wire::EngineModel::set_##number, most                                           \
  }

constexpr std::array<WireNumber, 13> kWireNumbers = {{
    MODEL_NUMBER(waiting, kMaxCount),
    MODEL_NUMBER(running, kMaxCount),
    MODEL_NUMBER(kv_cache_usage_ratio, 1),
    MODEL_NUMBER(limit, kMaxCount),
    MODEL_NUMBER(requests_done, kMaxCount),
    MODEL_NUMBER(queued_requests, kMaxCount),
    MODEL_NUMBER(queue_seconds, kMaxCount),
    MODEL_NUMBER(prompt_tokens, kMaxCount),
    MODEL_NUMBER(generation_tokens, kMaxCount),
    MODEL_NUMBER(preemptions, kMaxCount),
    MODEL_NUMBER(answers, kMaxCount),
    MODEL_NUMBER(answer_tokens, kMaxCount),
    MODEL_NUMBER(counters_began, kMaxCount),
}};

#undef MODEL_NUMBER

void EncodeHistogram(const Histogram& histogram, wire::HistogramCounts& counts) {
  for (const Histogram::Bucket& bucket : histogram.buckets) {
    counts.add_not_above(bucket.not_above);
    counts.add_count(bucket.count);
  }
}

// Returns true if the bounds rise to infinity and the counts never fall.
bool IsPlausible(const wire::HistogramCounts& counts) {
  const auto& bounds = counts.not_above();
  const auto& each = counts.count();
  if (bounds.empty() || bounds.size() != each.size() || !std::isinf(*bounds.rbegin())) return false;
  const auto bad_number = [](double count) { return !(count >= 0 && count <= kMaxCount); };
  if (std::ranges::any_of(each, bad_number) || !std::ranges::is_sorted(each)) return false;
  for (int i = 1; i < bounds.size(); ++i) {
    if (!(bounds[i] > bounds[i - 1])) return false;
  }
  return bounds[0] > -std::numeric_limits<double>::infinity();
}

Histogram DecodeHistogram(const wire::HistogramCounts& counts) {
  Histogram histogram;
  if (!IsPlausible(counts)) return histogram;
  for (int i = 0; i < counts.count_size(); ++i) {
    histogram.buckets.push_back({.not_above = counts.not_above(i), .count = counts.count(i)});
  }
  return histogram;
}

wire::EngineModel EncodeModel(const ModelReading& reading) {
  wire::EngineModel model;
  model.set_name(reading.model);
  for (const WireNumber& each : kWireNumbers) {
    if (const std::optional<double>& value = reading.*each.number) (model.*each.set)(*value);
  }
  if (reading.first_token_seconds) {
    EncodeHistogram(*reading.first_token_seconds, *model.mutable_first_token_seconds());
  }
  if (reading.output_token_seconds) {
    EncodeHistogram(*reading.output_token_seconds, *model.mutable_output_token_seconds());
  }
  return model;
}

ModelReading DecodeModel(const wire::EngineModel& model) {
  ModelReading reading{.model = model.name()};
  for (const WireNumber& each : kWireNumbers) {
    if (!(model.*each.has)()) continue;
    const double value = (model.*each.get)();
    reading.*each.number = value >= 0 && value <= each.most ? value : kImplausible;
  }
  if (model.has_first_token_seconds()) {
    reading.first_token_seconds = DecodeHistogram(model.first_token_seconds());
  }
  if (model.has_output_token_seconds()) {
    reading.output_token_seconds = DecodeHistogram(model.output_token_seconds());
  }
  return reading;
}

constexpr size_t kServiceSums = 9;

// In the order of the message.
std::array<double*, kServiceSums> SumsOf(ServiceSums& sums) {
  return {&sums.seconds,         &sums.tokens,
          &sums.running_tokens,  &sums.running_squared_tokens,
          &sums.running_seconds, &sums.running_squared_seconds,
          &sums.kv_seconds,      &sums.kv_running_seconds,
          &sums.largest_batch};
}

// Sums of squared batches are larger than what is counted.
constexpr double kMaxSumOfCounts = 1e24;

bool IsUpTo(double most, double number) { return number >= 0 && number <= most; }

bool IsPlausible(const wire::LearntEngine& learnt) {
  const auto is_sum = [](double sum) { return IsUpTo(kMaxSumOfCounts, sum); };
  return learnt.service_size() >= static_cast<int>(kServiceSums) &&
         std::ranges::all_of(learnt.service(), is_sum) && IsUpTo(kMaxCount, learnt.answers()) &&
         IsUpTo(kMaxCount, learnt.answer_tokens()) && IsUpTo(kMaxCount, learnt.reported_limit()) &&
         IsUpTo(kMaxCount, learnt.learnt_limit());
}

void EncodeLearnt(const SignalSeries& record, wire::LearntEngine& message) {
  ServiceSums sums = record.demand->service;
  for (const double* const sum : SumsOf(sums)) message.add_service(*sum);
  message.set_read_us(ToWire(record.demand->newest_at));
  if (!record.demand->bins.empty()) {
    const RequestBin& newest = record.demand->bins.back();
    message.set_answered_us(ToWire(newest.begin));
    message.set_answers(newest.answers);
    message.set_answer_tokens(newest.answer_tokens);
  }
  const EngineBatch& batch = *record.batch;
  if (batch.reported_limit) message.set_reported_limit(*batch.reported_limit);
  if (batch.learnt_limit) {
    message.set_learnt_limit(*batch.learnt_limit);
    message.set_limit_us(ToWire(batch.learnt_at));
  }
  message.set_models(record.models);
  message.set_gpu_model(record.gpu_model);
}

// Returns null if the record is implausible.
std::shared_ptr<SignalSeries> DecodeLearnt(const wire::LearntEngine& message,
                                           const WriterClock& clock) {
  if (!IsPlausible(message)) return nullptr;
  EngineDemand demand{.first_at = absl::InfinitePast(),
                      .newest_at = clock.ReaderTime(message.read_us())};
  int next = 0;
  for (double* const sum : SumsOf(demand.service)) *sum = message.service(next++);
  if (message.answers() > 0) {
    demand.bins.push_back({.begin = clock.ReaderTime(message.answered_us()),
                           .answers = message.answers(),
                           .answer_tokens = message.answer_tokens()});
  }
  EngineBatch batch;
  if (message.has_reported_limit()) batch.reported_limit = message.reported_limit();
  if (message.has_learnt_limit()) {
    batch.learnt_limit = message.learnt_limit();
    batch.learnt_at = clock.ReaderTime(message.limit_us());
  }
  auto record = std::make_shared<SignalSeries>();
  record->models = message.models();
  record->gpu_model = message.gpu_model();
  record->first_read_at = demand.newest_at;
  record->demand = std::make_shared<const EngineDemand>(std::move(demand));
  record->batch = std::make_shared<const EngineBatch>(std::move(batch));
  return record;
}

uint32_t WholeSeconds(absl::Duration duration) {
  return static_cast<uint32_t>(absl::ToInt64Seconds(absl::Ceil(duration, absl::Seconds(1))));
}

}  // namespace

wire::EngineReading EncodeEngine(uint32_t id, const EngineUpdate& update) {
  wire::EngineReading reading;
  reading.set_id(id);
  reading.set_taken_us(ToWire(update.at));
  reading.set_engine(std::string(update.engine));
  if (update.capacity_record != nullptr)
    EncodeLearnt(*update.capacity_record, *reading.mutable_learnt());
  if (!update.reading.ok()) {
    const absl::string_view why = update.reading.status().message();
    reading.set_failed(std::string(why.empty() ? "it cannot be read" : why));
    return reading;
  }
  for (const ModelReading& model : update.reading->models) {
    *reading.add_models() = EncodeModel(model);
  }
  return reading;
}

void DropHistograms(wire::EngineReading& reading) {
  for (wire::EngineModel& model : *reading.mutable_models()) {
    model.clear_first_token_seconds();
    model.clear_output_token_seconds();
  }
}

EngineUpdate DecodeEngine(const wire::EngineReading& reading, const WriterClock& clock) {
  EngineUpdate update{.at = clock.ReaderTime(reading.taken_us()),
                      .engine = reading.engine(),
                      .reading = EngineReading()};
  if (!reading.failed().empty()) {
    update.reading = absl::UnavailableError(reading.failed());
    return update;
  }
  if (reading.has_learnt()) update.capacity_record = DecodeLearnt(reading.learnt(), clock);
  for (const wire::EngineModel& model : reading.models()) {
    update.reading->models.push_back(DecodeModel(model));
  }
  return update;
}

void EncodeLeft(const SignalSeries& record, wire::LeftEngine& message) {
  EncodePod(*record.pod_with_owners, *message.mutable_pod());
  message.set_address(record.address);
  message.set_port(static_cast<uint32_t>(record.port));
  message.set_engine(record.engine);
  EncodeLearnt(record, *message.mutable_learnt());
}

std::shared_ptr<const SignalSeries> DecodeLeft(const wire::LeftEngine& message,
                                               const WriterClock& clock) {
  std::shared_ptr<SignalSeries> record = DecodeLearnt(message.learnt(), clock);
  if (record == nullptr) return nullptr;
  record->engine = message.engine();
  record->namespace_name = message.pod().namespace_name();
  record->pod = message.pod().name();
  record->address = message.address();
  record->port = static_cast<int>(message.port());
  record->name = EngineName({.address = record->address, .port = record->port}, record->engine);
  record->pod_with_owners = std::make_shared<const Pod>(DecodePod(message.pod(), clock));
  return record;
}

wire::EngineSubscription EncodeSubscription(const EngineSubscription& wanted,
                                            absl::Duration lease) {
  wire::EngineSubscription message;
  for (const auto& [name, interest] : wanted.namespaces) {
    wire::EnginesOfNamespace& of = *message.add_namespaces();
    of.set_name(name);
    of.set_histograms(interest.histograms);
    of.set_history_seconds(WholeSeconds(interest.look_back));
  }
  message.set_lease_seconds(WholeSeconds(lease));
  return message;
}

EngineSubscription DecodeSubscription(const wire::EngineSubscription& wanted) {
  EngineSubscription decoded;
  for (const wire::EnginesOfNamespace& of : wanted.namespaces()) {
    decoded.namespaces[of.name()].Add(
        {.histograms = of.histograms(), .look_back = absl::Seconds(of.history_seconds())});
  }
  return decoded;
}

}  // namespace gpuscaler
