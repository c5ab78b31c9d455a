#include "engine/demand.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/request_kind.h"
#include "engine/service_record.h"
#include "engine/token_time.h"

namespace gpuscaler {
namespace {

// Windows of arrivals, in bins of `kDemandBin`.
constexpr size_t kShortestWindow = 2;
constexpr size_t kLongestWindow = 30;
// With more arrivals than this a longer window adds nothing: their rate is known to 6 %.
constexpr double kEnoughArrivals = 250;
// A rate is rejected as not constant if it is off by more standard deviations. With 2.5 the
// replicas of a constant load change twice as often in simulation.
constexpr double kMaxDeviations = 3;

constexpr double kFewestAnswers = 10;
// Answers are compared in batches of this size.
constexpr double kComparedAnswersAtOnce = 50;

// Seconds of all engines together. A fit over less follows single answers.
constexpr double kShortestService = 60;

// The backlog is planned to be served in this time by additional replicas. With 120 the queue left
// by a load step keeps requests late for longer, at the same GPU-hours.
constexpr double kBacklogSeconds = 60;
constexpr double kMaxBacklog = 0.5;  // share of the replicas for arrivals

constexpr char kCapacityUnknown[] = "capacity unknown: set maxConcurrency or tpotSloMs";

// An element has the arrivals of one `kDemandBin`. The newest is first.
std::vector<double> ArrivalsBackFrom(absl::Time end, const EngineDemand& demand) {
  std::vector<double> arrivals(kLongestWindow, 0.0);
  for (const RequestBin& bin : demand.bins) {
    // The newest bin is not complete: it ends at the newest reading.
    const absl::Time until = std::min(bin.begin + kDemandBin, demand.newest_at);
    const absl::Duration length = std::max(until - bin.begin, absl::Milliseconds(1));
    const absl::Duration age = end - bin.begin;  // since the bin began
    if (age <= absl::ZeroDuration()) continue;
    // A bin overlaps two windows at most.
    const int64_t oldest = (age - absl::Nanoseconds(1)) / kDemandBin;
    for (const int64_t index : {oldest, oldest - 1}) {
      if (index < 0 || index >= static_cast<int64_t>(kLongestWindow)) continue;
      const absl::Time newer = end - index * kDemandBin;
      const absl::Duration overlap =
          std::min(until, newer) - std::max(bin.begin, newer - kDemandBin);
      if (overlap <= absl::ZeroDuration()) continue;
      arrivals[static_cast<size_t>(index)] += bin.arrived * absl::FDivDuration(overlap, length);
    }
  }
  return arrivals;
}

// The arrivals of one engine, as far back as its readings reach.
struct Arrivals {
  const EngineDemandInput* engine;
  std::vector<double> up_to;  // in the newest i + 1 bins before its newest reading
  absl::Duration known;       // readings reach this far back; infinite: nothing arrived before

  // Returns arrivals per second in the newest `bins`.
  double Rate(size_t bins) const {
    const absl::Duration covered = std::min(static_cast<int64_t>(bins) * kDemandBin, known);
    return up_to[bins - 1] / absl::ToDoubleSeconds(covered);
  }
};

struct TimeSpan {
  absl::Time from;
  absl::Time to;
};

// Returns the times between two engines in which there was none, oldest first: after a rollout with
// strategy Recreate, for example. Empty with a gateway, which held the requests of these times.
std::vector<TimeSpan> TimesWithoutEngines(std::span<const EngineDemandInput> engines) {
  std::vector<TimeSpan> present;
  for (const EngineDemandInput& engine : engines) {
    if (engine.sums == nullptr) continue;
    if (engine.is_gateway) return {};
    // An engine that did not begin here may have been present before its first reading.
    present.push_back(
        {.from = engine.sums->began_here ? engine.sums->first_at : absl::InfinitePast(),
         .to = engine.is_present ? absl::InfiniteFuture() : engine.sums->newest_at});
  }
  std::ranges::sort(present, {}, &TimeSpan::from);
  std::vector<TimeSpan> without;
  absl::Time until = present.empty() ? absl::InfiniteFuture() : present.front().to;
  for (const TimeSpan& span : present) {
    if (span.from > until) without.push_back({.from = until, .to = span.from});
    until = std::max(until, span.to);
  }
  return without;
}

// The times in `without_engines` after its departure are left out, because requests in them are
// unknown.
std::optional<Arrivals> ArrivalsOf(const EngineDemandInput& engine, absl::Time now,
                                   std::span<const TimeSpan> without_engines) {
  if (engine.sums == nullptr) return std::nullopt;
  const EngineDemand& sums = *engine.sums;
  if (sums.first_at == absl::InfinitePast()) return std::nullopt;  // no arrivals kept
  // An engine that is unreadable now keeps its rate. One that has left gets no more arrivals.
  absl::Time end = engine.is_present ? sums.newest_at : now;
  for (const TimeSpan& span : without_engines) {
    if (!engine.is_present && span.from >= sums.newest_at) end -= span.to - span.from;
  }
  Arrivals arrivals{.engine = &engine, .up_to = ArrivalsBackFrom(end, sums), .known = {}};
  for (size_t i = 1; i < arrivals.up_to.size(); ++i) arrivals.up_to[i] += arrivals.up_to[i - 1];
  const bool is_whole = sums.began_here || !engine.is_present;
  arrivals.known = is_whole ? absl::InfiniteDuration() : end - sums.first_at;
  if (arrivals.known < kDemandBin) return std::nullopt;
  return arrivals;
}

// Returns arrivals per second; those of engines, unlike gateways, are multiplied by `of_engines`.
double RateOf(const std::vector<Arrivals>& all, size_t bins, double of_engines = 1) {
  double rate = 0;
  for (const Arrivals& arrivals : all) {
    rate += (arrivals.engine->is_gateway ? 1 : of_engines) * arrivals.Rate(bins);
  }
  return rate;
}

// Returns true if a newest part of the window has another rate. In a Poisson process an arrival of
// `bins` falls into the newest k with probability k / bins (binomial distribution).
bool HasChangePoint(const std::vector<double>& arrived, size_t bins) {
  for (size_t newest = 1; newest < bins; ++newest) {
    const double share = static_cast<double>(newest) / static_cast<double>(bins);
    const double expected = share * arrived[bins];
    const double variance = std::max(1.0, expected * (1 - share));
    const double difference = arrived[newest] - expected;
    if (difference * difference > kMaxDeviations * kMaxDeviations * variance) return true;
  }
  return false;
}

// Returns the longest window with a constant rate, by change point detection like ADWIN (Bifet and
// Gavalda, 2007). It is long while the load is constant, so that noise changes no replica, and
// short after a step.
size_t WindowOf(const std::vector<Arrivals>& all) {
  std::vector<double> arrived = {0};  // in the newest i bins
  while (arrived.size() <= kShortestWindow ||
         (arrived.size() <= kLongestWindow && arrived.back() < kEnoughArrivals)) {
    const size_t bins = arrived.size();
    arrived.push_back(RateOf(all, bins) * absl::ToDoubleSeconds(kDemandBin) *
                      static_cast<double>(bins));
  }
  size_t window = arrived.size() - 1;
  while (window > kShortestWindow && HasChangePoint(arrived, window)) --window;
  return window;
}

// If answers became shorter or longer, older ones are left out.
RequestBin NewestAnswers(std::span<const EngineDemandInput> engines, absl::Time now) {
  std::map<absl::Time, RequestBin, std::greater<>> bins;  // newest first
  for (const EngineDemandInput& engine : engines) {
    if (engine.sums == nullptr) continue;
    for (const RequestBin& bin : engine.sums->bins) bins[bin.begin].AddAnswers(bin);
  }
  RequestBin newest;
  RequestBin older;  // the next ones, until there are enough to compare
  for (const auto& [begin, bin] : bins) {
    if (now - begin > kAnswersWindow && newest.answers + older.answers >= kEnoughAnswers) break;
    older.AddAnswers(bin);
    if (older.answers < kComparedAnswersAtOnce) continue;
    if (DifferInLength(newest, older)) {
      older = {};
      break;
    }
    newest.AddAnswers(std::exchange(older, {}));
  }
  newest.AddAnswers(older);
  return newest;
}

std::optional<double> TokensPerAnswer(const RequestBin& answered) {
  if (answered.answers < kFewestAnswers || answered.answer_tokens <= 0) return std::nullopt;
  return answered.answer_tokens / answered.answers;
}

// Orders present engines first, then by newest reading.
bool IsNewer(const EngineDemandInput& engine, const EngineDemandInput& other) {
  if (engine.is_present || other.is_present) return engine.is_present && !other.is_present;
  return engine.sums->newest_at > other.sums->newest_at;
}

// Adds up the batches of engines. The batches of an engine that left count as former ones if its
// requests were of another kind than those of the present engines. If none is present, the engines
// that left later are the reference.
ServiceSums ServiceOfGroup(std::vector<EngineDemandInput> engines) {
  std::ranges::stable_sort(engines, IsNewer);
  const bool has_left = !engines.empty() && !engines.back().is_present;
  ServiceSums sums, former;
  RequestBin answers;
  for (const EngineDemandInput& engine : engines) {
    const ServiceSums& own = engine.sums->service;
    RequestBin its_answers;
    if (has_left) its_answers = NewestAnswers({&engine, 1}, engine.sums->newest_at);
    // Requests that have just begun occupy less cache.
    const bool are_enough =
        std::min(its_answers.answers, answers.answers) >= kComparedAnswersAtOnce;
    const bool is_former = !engine.is_present && sums.seconds >= kShortestService && are_enough &&
                           (DifferInCache(own, sums) || DifferInLength(its_answers, answers));
    (is_former ? former : sums) += own;
    if (!is_former) answers.AddAnswers(its_answers);
  }
  return WithBatchSizesOf(former, sums);
}

// Returns the sums by GPU model. Only the newest template counts if it has enough of them.
std::map<std::string, ServiceSums> ServiceOf(std::span<const EngineDemandInput> engines) {
  std::map<std::string, std::vector<EngineDemandInput>> groups;
  for (const EngineDemandInput& engine : engines) {
    if (engine.sums != nullptr) groups[engine.gpu_model].push_back(engine);
  }
  std::map<std::string, ServiceSums> service;
  for (auto& [gpu_model, group] : groups) {
    std::vector<EngineDemandInput> newest = group;
    std::erase_if(newest,
                  [](const EngineDemandInput& engine) { return !engine.is_of_newest_template; });
    ServiceSums sums = ServiceOfGroup(std::move(newest));
    if (sums.seconds < kShortestService) sums = ServiceOfGroup(std::move(group));
    if (sums.seconds >= kShortestService) service[gpu_model] = sums;
  }
  return service;
}

// Returns true if no request is in flight.
bool IsIdle(std::span<const EngineDemandInput> engines) {
  return std::ranges::none_of(engines, [](const EngineDemandInput& engine) {
    return engine.is_present && !engine.is_frozen && engine.sums != nullptr &&
           engine.sums->waiting + engine.sums->running > 0;
  });
}

// Returns the smallest limit of present engines of the newest template. If they have none, returns
// the smallest of all engines.
std::optional<double> SmallestLimit(std::span<const EngineDemandInput> engines,
                                    const std::string& gpu_model) {
  std::optional<double> newest;
  std::optional<double> smallest;
  for (const EngineDemandInput& engine : engines) {
    if (engine.gpu_model != gpu_model || !engine.limit.has_value()) continue;
    smallest = std::min(smallest.value_or(*engine.limit), *engine.limit);
    if (!engine.is_present || !engine.is_of_newest_template) continue;
    newest = std::min(newest.value_or(*engine.limit), *engine.limit);
  }
  return newest.has_value() ? newest : smallest;
}

std::optional<double> AnyLimit(std::span<const EngineDemandInput> engines) {
  for (const EngineDemandInput& engine : engines) {
    if (engine.limit.has_value()) return engine.limit;
  }
  return std::nullopt;
}

// If the capacity of the GPU model is unknown, another model's is used.
const ReplicaCapacity& CapacityFor(const std::string& gpu_model,
                                   const std::vector<ReplicaCapacity>& capacities) {
  const auto own = std::ranges::find(capacities, gpu_model, &ReplicaCapacity::gpu_model);
  return own == capacities.end() ? capacities.front() : *own;
}

bool IsPresentEngine(const EngineDemandInput& engine) {
  return engine.is_present && !engine.is_gateway;
}

// Returns true if a gateway holds requests and no engine is present to serve them.
bool HoldsWithoutEngines(std::span<const EngineDemandInput> engines) {
  return std::ranges::none_of(engines, IsPresentEngine) &&
         std::ranges::any_of(engines, [](const EngineDemandInput& engine) {
           return engine.is_gateway && engine.is_present && engine.sums != nullptr &&
                  engine.sums->waiting > 0;
         });
}

Demand DemandOfArrivals(std::span<const EngineDemandInput> engines,
                        std::optional<absl::Duration> tpot_slo, absl::Time now) {
  Demand demand;
  std::vector<Arrivals> known;
  int64_t unknown = 0;
  const std::vector<TimeSpan> without_engines = TimesWithoutEngines(engines);
  for (const EngineDemandInput& engine : engines) {
    std::optional<Arrivals> arrivals = ArrivalsOf(engine, now, without_engines);
    if (arrivals.has_value())
      known.push_back(*std::move(arrivals));
    else if (IsPresentEngine(engine))
      ++unknown;
  }
  const int64_t present = std::ranges::count_if(
      known, [](const Arrivals& arrivals) { return IsPresentEngine(*arrivals.engine); });
  if (known.empty() || (present == 0 && !HoldsWithoutEngines(engines))) {
    demand.unknown_because = "arrivals are not known yet";
    return demand;
  }
  if (unknown > present) {
    demand.unknown_because = "the arrivals of most engines are not known";
    return demand;
  }
  demand.engines = static_cast<int>(present + unknown);
  const size_t window = WindowOf(known);
  demand.window = static_cast<int64_t>(window) * kDemandBin;
  // An engine that was never read is assumed to have the mean rate of the others.
  const double with_unknown =
      present == 0 ? 1 : static_cast<double>(present + unknown) / static_cast<double>(present);
  demand.arrivals_per_second = std::max(0.0, RateOf(known, window, with_unknown));

  if (IsIdle(engines) && demand.arrivals_per_second == 0) {
    demand.replicas = 0;  // at any capacity
    return demand;
  }
  const std::optional<double> tokens = TokensPerAnswer(NewestAnswers(engines, now));
  const std::map<std::string, ServiceSums> service = ServiceOf(engines);
  if (!tokens.has_value() || service.empty()) {
    demand.unknown_because = "capacity is not known yet: too few answers";
    return demand;
  }
  demand.tokens_per_answer = *tokens;
  for (const auto& [gpu_model, sums] : service) {
    std::optional<double> limit = SmallestLimit(engines, gpu_model);
    if (!limit.has_value()) limit = AnyLimit(engines);
    auto capacity = CapacityOf(gpu_model, sums, *tokens, limit, tpot_slo);
    if (capacity.has_value()) demand.capacities.push_back(*std::move(capacity));
  }
  if (demand.capacities.empty()) {
    const bool is_given = AnyLimit(engines).has_value() || tpot_slo.has_value();
    demand.unknown_because =
        is_given ? "capacity is not known yet: batches of all sizes took the same time per token"
                 : kCapacityUnknown;
    return demand;
  }

  double replicas = 0;
  double full = 0;  // engines that requests in flight fill
  for (const Arrivals& arrivals : known) {
    const EngineDemandInput& engine = *arrivals.engine;
    const EngineDemand& sums = *engine.sums;
    const ReplicaCapacity& capacity = CapacityFor(engine.gpu_model, demand.capacities);
    const double share = arrivals.Rate(window) / capacity.requests_per_second;
    const bool is_unreadable = engine.is_present && now - sums.newest_at > kPresentAfterReading;
    replicas +=
        (engine.is_gateway ? 1 : with_unknown) * (is_unreadable ? std::min(1.0, share) : share);
    if (!engine.is_present || engine.is_frozen || is_unreadable) continue;
    // Requests above the batch that keeps the service level count as waiting.
    const double above = engine.is_gateway ? 0 : std::max(0.0, sums.running - capacity.batch);
    demand.backlog += (sums.waiting + above) / (capacity.requests_per_second * kBacklogSeconds);
    if (engine.is_gateway) continue;
    full += std::min(1.0, (sums.running + sums.waiting) / capacity.batch);
  }
  replicas = std::max(0.0, replicas);
  demand.backlog = std::min(demand.backlog, kMaxBacklog * replicas);
  // Long answers continue after their requests have left the window.
  demand.replicas = std::max(replicas + demand.backlog, full);
  return demand;
}

}  // namespace

Demand DemandOf(std::span<const EngineDemandInput> engines, std::optional<absl::Duration> tpot_slo,
                absl::Time now) {
  Demand demand = DemandOfArrivals(engines, tpot_slo, now);
  if (HoldsWithoutEngines(engines)) demand.replicas = std::max(1.0, demand.replicas.value_or(1));
  return demand;
}

std::string DemandText(const Demand& demand) {
  if (!demand.replicas.has_value()) return absl::StrCat("demand: ", demand.unknown_because);
  if (!demand.unknown_because.empty()) {
    return absl::StrCat("demand: 1 replica for the requests that the gateway holds: ",
                        demand.unknown_because);
  }
  std::string text =
      absl::StrFormat("demand: %.2f replicas: %.3g requests/s over %.0f s, %.0f tokens per answer",
                      *demand.replicas, demand.arrivals_per_second,
                      absl::ToDoubleSeconds(demand.window), demand.tokens_per_answer);
  for (const ReplicaCapacity& capacity : demand.capacities) {
    absl::StrAppendFormat(&text, "; one replica%s%s serves %.3g requests/s at a batch of %.0f (%s)",
                          capacity.gpu_model.empty() ? "" : " on ", capacity.gpu_model,
                          capacity.requests_per_second, capacity.planned_batch, capacity.bound_by);
  }
  if (demand.backlog > 0)
    absl::StrAppendFormat(&text, "; %.2f of them for requests that wait", demand.backlog);
  return text;
}

}  // namespace gpuscaler
