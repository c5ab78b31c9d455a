#include "engine/demand_accumulator.h"

#include <algorithm>

namespace gpuscaler {
namespace {

// The first answers of a process wait for compilation and cold caches (Dynamo #12430).
constexpr absl::Duration kColdStart = absl::Seconds(60);
// The batch between readings that are further apart is unknown.
constexpr absl::Duration kLongestStep = absl::Seconds(30);
// Below this a request runs alone, which is no sample of a batch.
constexpr double kSmallestBatch = 2;

constexpr absl::Duration kKept = absl::Minutes(15);
// An idle engine keeps its last answers for a day.
constexpr size_t kMaxBins = 90;
constexpr absl::Duration kKeptWhileIdle = absl::Hours(24);

bool HasRequestCounters(const ServiceReading& reading) {
  return reading.waiting.has_value() && reading.running.has_value() &&
         reading.requests_done.has_value();
}

double InFlight(const ServiceReading& reading) { return *reading.waiting + *reading.running; }

// Returns the reading of a process that began after a reading of another one.
ServiceReading ZeroReading(absl::Time at) {
  return {
      .at = at, .waiting = 0, .running = 0, .requests_done = 0, .answers = 0, .answer_tokens = 0};
}

// Returns true if the process began after `at`, when another one was read. If not, its counters are
// older: the address resolved to another pod, or a model left the sum.
bool BeganAfter(absl::Time at, const ServiceReading& reading) {
  if (reading.requests_done == 0.0) return true;
  return reading.counters_began.has_value() &&
         absl::UnixEpoch() + absl::Seconds(*reading.counters_began) > at - kDemandBin;
}

}  // namespace

void DemandAccumulator::Take(const ServiceReading& reading) {
  counters_reset_ |= !reading.continues;
  if (!HasRequestCounters(reading)) return;
  const ServiceReading& newer = reading;
  // The skipped readings may belong to another process in between.
  counters_reset_ |= newest_.has_value() && *newer.requests_done < *newest_->requests_done;
  if (!newest_.has_value()) {
    Begin(newer);
  } else if (counters_reset_) {
    if (BeganAfter(newest_->at, newer)) AddGrowth(ZeroReading(newest_->at), newer);
    cold_until_ = newer.at + kColdStart;
    service_.Pause();
  } else {
    AddGrowth(*newest_, newer);
    AddService(*newest_, newer);
  }
  counters_reset_ = false;
  newest_ = newer;
  DropOldest(newer.at);
}

void DemandAccumulator::BeginAnotherModel() {
  counters_reset_ = true;
  service_ = ServiceAccumulator();
  for (RequestBin& bin : bins_) bin.answers = bin.answer_tokens = 0;
}

// The counts of a process from before its first reading are of unknown age, unless it has finished
// no request yet.
void DemandAccumulator::Begin(const ServiceReading& first) {
  const absl::Time began = first.counters_began.has_value()
                               ? absl::UnixEpoch() + absl::Seconds(*first.counters_began)
                               : absl::InfinitePast();
  began_here_ = first.requests_done == 0.0 || first.at - began < kDemandBin;
  first_at_ = first.at;
  RequestBin& bin = BinAt(first.at);
  if (!began_here_) return;
  bin.arrived += *first.requests_done + InFlight(first);
  cold_until_ = first.at + kColdStart;
}

void DemandAccumulator::AddGrowth(const ServiceReading& older, const ServiceReading& newer) {
  const double arrived =
      *newer.requests_done - *older.requests_done + InFlight(newer) - InFlight(older);
  const bool show_answers = ShowAnswers(older, newer);
  const double answers = show_answers ? *newer.answers - *older.answers : 0;
  const double tokens = show_answers ? *newer.answer_tokens - *older.answer_tokens : 0;
  const double seconds = absl::ToDoubleSeconds(newer.at - older.at);
  // An idle engine gets no bins, so that they do not displace its last answers.
  if (arrived == 0 && answers == 0) return;
  absl::Time from = std::max(older.at, newer.at - kKept);
  while (from < newer.at) {
    const absl::Time until = std::min(BeginOfBin(from) + kDemandBin, newer.at);
    const double share = absl::ToDoubleSeconds(until - from) / seconds;
    RequestBin& requests = BinAt(from);
    requests.arrived += share * arrived;
    requests.answers += share * answers;
    requests.answer_tokens += share * tokens;
    from = until;
  }
}

void DemandAccumulator::AddService(const ServiceReading& older, const ServiceReading& newer) {
  const double n = (*older.running + *newer.running) / 2;
  const bool counts = newer.at - older.at <= kLongestStep && older.at >= cold_until_ &&
                      n >= kSmallestBatch && older.generation_tokens.has_value() &&
                      newer.generation_tokens.has_value();
  if (!counts) return service_.Pause();
  service_.Add(older, newer);
}

// `at` is before the newest bin by the time between two readings at most.
RequestBin& DemandAccumulator::BinAt(absl::Time at) {
  const absl::Time begin = BeginOfBin(at);
  const auto after = std::ranges::upper_bound(bins_, begin, {}, &RequestBin::begin);
  const bool is_there = after != bins_.begin() && std::prev(after)->begin == begin;
  if (is_there) return *std::prev(after);
  return *bins_.insert(after, RequestBin{.begin = begin});
}

void DemandAccumulator::DropOldest(absl::Time now) {
  while (!bins_.empty()) {
    const RequestBin& oldest = bins_.front();
    const absl::Duration age = now - oldest.begin;
    const bool is_kept = oldest.answers > 0 && age < kKeptWhileIdle && bins_.size() <= kMaxBins;
    if (age < kKept || is_kept) return;
    bins_.pop_front();
  }
}

std::optional<EngineDemand> DemandAccumulator::Sums() const {
  if (!newest_.has_value()) return std::nullopt;
  EngineDemand demand{.first_at = first_at_,
                      .newest_at = newest_->at,
                      .began_here = began_here_,
                      .waiting = *newest_->waiting,
                      .running = *newest_->running};
  demand.bins.assign(bins_.begin(), bins_.end());
  demand.service = service_.Sums(newest_->at);
  return demand;
}

}  // namespace gpuscaler
