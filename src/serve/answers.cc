#include "serve/answers.h"

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "trigger/key_readers.h"

namespace gpuscaler {
namespace {

using externalscaler::GetMetricSpecResponse;
using externalscaler::GetMetricsResponse;
using gpuscaler::v1::Explanation;

int64_t RoundedUp(double value) {
  constexpr double kLargest = 9.2e18;  // the last double below 2^63 has more digits
  return static_cast<int64_t>(std::ceil(std::clamp(value, -kLargest, kLargest)));
}

// Returns the value within the range of a Kubernetes Quantity in thousandths.
double AsQuantity(double value) {
  return RoundToThreeDecimals(std::clamp(value, -kLargestNumber, kLargestNumber));
}

Explanation WithTrigger(const ParsedTrigger& parsed) {
  Explanation explanation;
  explanation.set_target(parsed.trigger.ok() ? parsed.trigger->target : parsed.spec.target);
  explanation.set_metric_name(parsed.spec.metric_name);
  if (parsed.trigger.ok()) {
    explanation.set_target_type(std::string(Name(parsed.trigger->target_type)));
  }
  return explanation;
}

// Returns the age of the oldest reading that counts.
absl::Duration AgeAt(absl::Time now, const Decision& decision) {
  absl::Duration age;
  for (const DecidedNode& node : decision.nodes) age = std::max(age, node.age);
  return now - decision.taken_at + age;
}

void SetStatus(const absl::Status& status, Explanation& explanation) {
  explanation.set_code(static_cast<int>(status.code()));
  explanation.set_message(std::string(status.message()));
}

void AddShare(const Contribution& contribution, Explanation& explanation) {
  auto& to = *explanation.add_shares();
  to.set_name(contribution.name);
  for (const std::string& uuid : contribution.gpus) to.add_gpu_uuids(uuid);
  to.set_state(std::string(Name(contribution.state)));
  if (contribution.load) to.set_load(*contribution.load);
  to.set_busy(contribution.busy);
  to.set_standing(contribution.is_preallocated);
  to.set_because(contribution.because);
  for (const std::string& node : contribution.nodes) to.add_nodes(node);
}

void AddDecidedNode(const DecidedNode& node, Explanation& explanation) {
  auto& to = *explanation.add_nodes();
  to.set_name(node.name);
  to.set_replicas(node.replicas);
  to.set_age_seconds(absl::ToDoubleSeconds(node.age));
}

void AddDemand(const Decision& decision, Explanation& explanation) {
  if (!decision.demand.has_value()) return;
  const Demand& demand = *decision.demand;
  gpuscaler::v1::ExplainedDemand& to = *explanation.mutable_demand();
  if (demand.replicas.has_value()) to.set_replicas(*demand.replicas);
  to.set_unknown_because(demand.unknown_because);
  to.set_counts(decision.by_demand);
  to.set_arrivals_per_second(demand.arrivals_per_second);
  to.set_window_seconds(absl::ToDoubleSeconds(demand.window));
  to.set_tokens_per_answer(demand.tokens_per_answer);
  to.set_backlog_replicas(demand.backlog);
  if (decision.batch_limit.has_value()) to.set_batch_limit(*decision.batch_limit);
  for (const ReplicaCapacity& capacity : demand.capacities) {
    gpuscaler::v1::ReplicaCapacity& one = *to.add_capacities();
    one.set_gpu_model(capacity.gpu_model);
    one.set_batch(capacity.planned_batch);
    one.set_bound_by(capacity.bound_by);
    one.set_requests_per_second(capacity.requests_per_second);
  }
}

}  // namespace

GetMetricSpecResponse SpecAnswer(const MetricSpec& spec) {
  GetMetricSpecResponse answer;
  const double target = std::max(RoundToThreeDecimals(spec.target), 0.001);
  auto& only = *answer.add_metricspecs();
  only.set_metricname(spec.metric_name);
  only.set_targetsize(RoundedUp(target));
  only.set_targetsizefloat(target);
  return answer;
}

GetMetricsResponse MetricsAnswer(const CachedDecision& cached) {
  GetMetricsResponse answer;
  const double value = AsQuantity(cached.decision.value);
  auto& only = *answer.add_metricvalues();
  only.set_metricname(cached.parsed->spec.metric_name);
  only.set_metricvalue(RoundedUp(value));
  only.set_metricvaluefloat(value);
  return answer;
}

Explanation ExplainAnswer(const CachedDecision& cached, absl::Time now,
                          const std::string& why_no_room) {
  Decision decision = cached.decision;
  if (!why_no_room.empty()) decision.notes.push_back(why_no_room);
  Explanation explanation = WithTrigger(*cached.parsed);
  SetStatus(decision.status, explanation);
  explanation.set_value(AsQuantity(decision.value));
  explanation.set_active(decision.active);
  explanation.set_active_because(decision.active_because);
  explanation.set_replicas(decision.replicas);
  explanation.set_unreadable(decision.unreadable);
  explanation.set_starting(decision.starting);
  explanation.set_terminating(decision.terminating);
  explanation.set_held_because(decision.held_because);
  explanation.set_replicas_from(decision.replicas_from);
  for (const Contribution& contribution : decision.contributions)
    AddShare(contribution, explanation);
  for (const DecidedNode& node : decision.nodes) AddDecidedNode(node, explanation);
  for (const std::string& note : decision.notes) explanation.add_notes(note);
  AddDemand(decision, explanation);
  explanation.set_partial(decision.partial);
  explanation.set_snapshot_age_seconds(absl::ToDoubleSeconds(AgeAt(now, decision)));
  explanation.set_text(Explain(*cached.parsed->trigger, decision));
  return explanation;
}

Explanation ExplainAnswer(const ParsedTrigger& parsed, const absl::Status& error) {
  Explanation explanation = WithTrigger(parsed);
  SetStatus(error, explanation);
  Decision unknown;
  unknown.status = error;
  explanation.set_text(Explain(parsed.trigger.value_or(Trigger()), unknown));
  return explanation;
}

}  // namespace gpuscaler
