#include "engine/stored_readings.h"

#include <algorithm>
#include <utility>

#include "engine/look_back.h"

namespace gpuscaler {
namespace {

bool HasFallen(std::optional<double> older, std::optional<double> newer) {
  return older.has_value() && newer.has_value() && *newer < *older;
}

bool HasFallen(const std::optional<Histogram>& older, const std::optional<Histogram>& newer) {
  if (!older.has_value() || !newer.has_value()) return false;
  if (IsUnobserved(*older)) return false;
  if (!HaveSameBounds(*older, *newer)) return true;  // another process
  for (size_t i = 0; i < newer->buckets.size(); ++i) {
    if (newer->buckets[i].count < older->buckets[i].count) return true;
  }
  return false;
}

std::shared_ptr<const Histogram> Kept(const std::optional<Histogram>& histogram) {
  return histogram.has_value() ? std::make_shared<const Histogram>(*histogram) : nullptr;
}

size_t BytesOf(const std::shared_ptr<const Histogram>& histogram) {
  if (histogram == nullptr) return 0;
  return sizeof(Histogram) + histogram->buckets.capacity() * sizeof(Histogram::Bucket);
}

size_t HistogramBytesOf(const TimedReading& reading) {
  return BytesOf(reading.first_token_seconds) + BytesOf(reading.output_token_seconds);
}

}  // namespace

bool CountersGoOn(const ModelReading& older, const ModelReading& newer) {
  if (older.counters_began.has_value() && newer.counters_began.has_value() &&
      *older.counters_began != *newer.counters_began) {
    return false;
  }
  const auto has_fallen = [&](auto counter) { return HasFallen(older.*counter, newer.*counter); };
  return std::ranges::none_of(kModelCounters, has_fallen) &&
         std::ranges::none_of(kModelHistograms, has_fallen);
}

void StoredReadings::AddReading(absl::Time at, ModelReading reading) {
  readings_.push_back({.at = at,
                       .continues = readings_.empty() || CountersGoOn(newest_, reading),
                       .waiting = reading.waiting,
                       .running = reading.running,
                       .kv_cache_usage_ratio = reading.kv_cache_usage_ratio,
                       .limit = reading.limit,
                       .requests_done = reading.requests_done,
                       .queued_requests = reading.queued_requests,
                       .queue_seconds = reading.queue_seconds,
                       .first_token_seconds = Kept(reading.first_token_seconds),
                       .output_token_seconds = Kept(reading.output_token_seconds)});
  histogram_bytes_ += HistogramBytesOf(readings_.back());
  newest_ = std::move(reading);
}

void StoredReadings::Forget(absl::Time before) {
  const size_t gone = ErasableBefore(readings_, before, &TimedReading::at);
  for (size_t i = 0; i < gone; ++i) histogram_bytes_ -= HistogramBytesOf(readings_[i]);
  readings_.erase(readings_.begin(), readings_.begin() + static_cast<std::ptrdiff_t>(gone));
}

void StoredReadings::ForgetHistograms() {
  for (TimedReading& reading : readings_) {
    reading.first_token_seconds.reset();
    reading.output_token_seconds.reset();
  }
  histogram_bytes_ = 0;
}

size_t StoredReadings::Bytes() const {
  return sizeof(*this) + readings_.capacity() * sizeof(TimedReading) + histogram_bytes_;
}

}  // namespace gpuscaler
