// What is decided on the Deployment llm of team-a, for tests.
//
//   DecidedOn(UtilizationOf("llm"), {Node("gpu-1", {Llm("llm-a", 90)})}).value  // 90
#pragma once

#include <string>
#include <vector>

#include "scaling/decision.h"
#include "scaling/fleet_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {

inline const Asker kOfTeamA{.namespace_name = "team-a", .name = "llm", .opened = {}};

inline Trigger UtilizationOf(const char* workload, const char* kind = "") {
  Trigger trigger = Utilization();
  trigger.workload = workload;
  trigger.workload_kind = kind;
  return trigger;
}

inline HeldPod Llm(const char* name, double load) {
  return {.name = name, .owner = "llm", .loads = {load}};
}

inline Decision DecidedOn(const Trigger& trigger, const FleetBuilder& fleet,
                          const Asker& asker = kOfTeamA) {
  return Decide(trigger, asker, fleet.fleet(), kPatience);
}

// The nodes have shown that for longer than any window.
inline Decision DecidedOn(const Trigger& trigger, const std::vector<NodeSnapshot>& nodes,
                          const Asker& asker = kOfTeamA) {
  return DecidedOn(trigger, FleetBuilder().Hold(kLong, nodes), asker);
}

inline std::string MessageOf(const Decision& decision) {
  return std::string(decision.status.message());
}

inline std::vector<std::string> NamesOf(const Decision& decision) {
  std::vector<std::string> names;
  for (const ReplicaShare& share : decision.shares) names.push_back(share.name);
  return names;
}

}  // namespace gpuscaler
