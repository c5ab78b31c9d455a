#include "engine/service_record.h"

#include <algorithm>
#include <cstddef>

namespace gpuscaler {
namespace {

// Agents send this much of the past to an aggregator that has just started.
constexpr absl::Duration kResent = absl::Minutes(15);

// The newest record of an agent may lag this far behind the aggregator's readings.
constexpr double kRecordIsBehind = 30;  // seconds

}  // namespace

bool ShowsService(const EngineDemand& demand) {
  return demand.service.seconds > 0 ||
         std::ranges::any_of(demand.bins, [](const RequestBin& bin) { return bin.answers > 0; });
}

EngineDemand ServiceRecordOf(const EngineDemand& demand) {
  EngineDemand kept{
      .first_at = absl::InfinitePast(), .newest_at = demand.newest_at, .service = demand.service};
  RequestBin newest;
  for (size_t i = demand.bins.size(); i-- > 0;) {
    const RequestBin& bin = demand.bins[i];
    const bool is_old = demand.newest_at - bin.begin > kAnswersWindow;
    if (is_old && newest.answers >= kEnoughAnswers) break;
    if (bin.answers <= 0) continue;
    if (newest.answers == 0) newest.begin = bin.begin;
    newest.AddAnswers(bin);
  }
  if (newest.answers > 0) kept.bins.push_back(newest);
  return kept;
}

EngineDemand WithServiceRecord(EngineDemand own, const EngineDemand& kept) {
  if (kept.service.seconds + kRecordIsBehind < own.service.seconds) return own;
  own.service = kept.service;
  double answers = 0;
  for (const RequestBin& bin : own.bins) {
    if (own.newest_at - bin.begin <= kResent) answers += bin.answers;
  }
  if (answers >= kEnoughAnswers || kept.bins.empty()) return own;
  for (RequestBin& bin : own.bins) bin.answers = bin.answer_tokens = 0;
  own.bins.insert(own.bins.end(), kept.bins.begin(), kept.bins.end());
  return own;
}

void RemoveService(EngineDemand& demand) {
  demand.service = {};
  for (RequestBin& bin : demand.bins) bin.answers = bin.answer_tokens = 0;
}

}  // namespace gpuscaler
