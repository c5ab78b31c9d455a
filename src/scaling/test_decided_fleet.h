// Decisions on the Deployment llm of namespace team-a, for tests.
//
//   DecidedOn(UtilizationOf("llm"), {Node("gpu-1", {Llm("llm-a", 90)})}).value  // 90
#pragma once

#include <string>
#include <vector>

#include "scaling/decision.h"
#include "scaling/test_fleet_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {

inline const ScaledObjectRef kLlmOfTeamA{
    .namespace_name = "team-a", .name = "llm", .allowed_namespaces = {}};

inline Trigger UtilizationOf(const char* workload, const char* kind = "") {
  Trigger trigger = Utilization();
  trigger.workload = workload;
  trigger.workload_kind = kind;
  return trigger;
}

inline GpuPod Llm(const char* name, double load) {
  return {.name = name, .owner = "llm", .loads = {load}};
}

inline Decision DecidedOn(const Trigger& trigger, const FleetBuilder& fleet,
                          const ScaledObjectRef& scaled_object = kLlmOfTeamA) {
  return Decide(trigger, scaled_object, fleet.fleet(), kStaleness);
}

// Decides after `nodes` were in this state for longer than any window.
inline Decision DecidedOn(const Trigger& trigger, const std::vector<NodeSnapshot>& nodes,
                          const ScaledObjectRef& scaled_object = kLlmOfTeamA) {
  return DecidedOn(trigger, FleetBuilder().RepeatFor(kLong, nodes), scaled_object);
}

inline std::string MessageOf(const Decision& decision) {
  return std::string(decision.status.message());
}

inline std::vector<std::string> NamesOf(const Decision& decision) {
  std::vector<std::string> names;
  for (const Contribution& contribution : decision.contributions)
    names.push_back(contribution.name);
  return names;
}

}  // namespace gpuscaler
