#include "engine/engine_reading.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/served_models.h"

namespace gpuscaler {
namespace {

constexpr std::array<ModelNumber, 3> kAddedGauges = {&ModelReading::waiting, &ModelReading::running,
                                                     &ModelReading::limit};

void AddNumber(std::optional<double>& sum, std::optional<double> more) {
  if (more.has_value()) sum = sum.value_or(0) + *more;  // NaN stays NaN
}

void KeepHighest(std::optional<double>& highest, std::optional<double> other) {
  if (!other.has_value() || (highest.has_value() && std::isnan(*highest))) return;
  if (!highest.has_value() || std::isnan(*other) || *other > *highest) highest = other;
}

// Histograms with different bounds cannot be added: the sum then has no buckets.
void AddHistogram(std::optional<Histogram>& sum, const std::optional<Histogram>& more) {
  if (!more.has_value() || (sum.has_value() && IsUnobserved(*more))) return;
  if (!sum.has_value() || IsUnobserved(*sum)) {
    sum = more;
    return;
  }
  if (!HaveSameBounds(*sum, *more)) sum->buckets.clear();
  for (size_t i = 0; i < sum->buckets.size(); ++i) sum->buckets[i].count += more->buckets[i].count;
}

void Add(ModelReading& sum, const ModelReading& more) {
  for (const ModelNumber gauge : kAddedGauges) AddNumber(sum.*gauge, more.*gauge);
  for (const ModelNumber counter : kModelCounters) AddNumber(sum.*counter, more.*counter);
  for (const ModelHistogram histogram : kModelHistograms) {
    AddHistogram(sum.*histogram, more.*histogram);
  }
  KeepHighest(sum.kv_cache_usage_ratio, more.kv_cache_usage_ratio);
  KeepHighest(sum.counters_began, more.counters_began);
}

// A sum of finite numbers may be infinite.
bool IsValid(double number) { return std::isfinite(number); }

bool IsValid(const Histogram& histogram) {
  return !histogram.buckets.empty() &&
         std::ranges::all_of(histogram.buckets,
                             [](const Histogram::Bucket& bucket) { return IsValid(bucket.count); });
}

template <typename Value>
void ClearIfInvalid(std::optional<Value>& value) {
  if (value.has_value() && !IsValid(*value)) value.reset();
}

void ClearInvalid(ModelReading& reading) {
  for (const ModelNumber gauge : kAddedGauges) ClearIfInvalid(reading.*gauge);
  for (const ModelNumber counter : kModelCounters) ClearIfInvalid(reading.*counter);
  for (const ModelHistogram histogram : kModelHistograms) ClearIfInvalid(reading.*histogram);
  ClearIfInvalid(reading.kv_cache_usage_ratio);
  ClearIfInvalid(reading.counters_began);
}

}  // namespace

Histogram UnobservedHistogram() {
  return {.buckets = {{.not_above = std::numeric_limits<double>::infinity(), .count = 0}}};
}

bool IsUnobserved(const Histogram& histogram) {
  return histogram.buckets.size() == 1 && histogram.Count() == 0;
}

bool HaveSameBounds(const Histogram& a, const Histogram& b) {
  return std::ranges::equal(a.buckets, b.buckets, {}, &Histogram::Bucket::not_above,
                            &Histogram::Bucket::not_above);
}

std::optional<ModelReading> ReadingOf(const EngineReading& reading, absl::string_view model) {
  ModelReading found;
  if (model.empty()) {
    for (const ModelReading& one : reading.models) Add(found, one);
  } else {
    const auto one = std::ranges::find(reading.models, model, &ModelReading::model);
    if (one == reading.models.end()) return std::nullopt;
    found = *one;
  }
  ClearInvalid(found);
  return found;
}

std::string ModelsOf(const EngineReading& reading) {
  std::vector<absl::string_view> names;
  names.reserve(reading.models.size());
  for (const ModelReading& model : reading.models) names.emplace_back(model.model);
  return JoinModels(names);
}

}  // namespace gpuscaler
