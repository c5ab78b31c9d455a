#include "discovery/engine_search.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "engine/engines.h"
#include "page/ip_block.h"

namespace gpuscaler {
namespace {

// The engines' default ports, each once.
std::vector<int> UsualPorts() {
  std::vector<int> ports;
  for (const Engine* const engine : Engines()) {
    for (const int port : {engine->port, engine->later_port}) {
      const bool is_new = std::ranges::find(ports, port) == ports.end();
      if (port != 0 && is_new) ports.push_back(port);
    }
  }
  return ports;
}

// Such an error lasts until somebody changes the configuration.
bool IsPermanent(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsPermissionDenied(status);
}

}  // namespace

EngineSearch::EngineSearch(const Clock& clock, NodeFolders folders)
    : clock_(clock),
      rules_(AllowedEndpoints()),
      finder_(clock, UsualPorts(), std::move(folders)),
      log_limit_(clock, 20, absl::Seconds(10)) {}

void EngineSearch::Update(const NodeSnapshot& snapshot, const std::set<std::string>& namespaces) {
  namespaces_ = namespaces;
  std::map<PodName, PodState> before = std::exchange(pods_, {});
  for (const PodEngines& pod : finder_.Find(snapshot)) {
    if (!namespaces_.contains(pod.namespace_name)) continue;
    const PodName name = {pod.namespace_name, pod.pod};
    const auto known = before.find(name);
    if (known == before.end()) {
      UpdatePod(pod, pods_.emplace(name, PodState(clock_.Now())).first->second);
    } else {
      UpdatePod(pod, pods_.emplace(name, std::move(known->second)).first->second);
      before.erase(known);
    }
  }
  for (const auto& [name, searched] : before) {
    if (!namespaces_.contains(name.first) || !searched.engine.answers()) continue;
    LogLost(name, *searched.engine.engine(), searched.engine.name(), "its pod is gone");
  }
}

void EngineSearch::UpdatePod(const PodEngines& pod, PodState& searched) {
  const PodName name = {pod.namespace_name, pod.pod};
  const absl::Time now = clock_.Now();
  searched.status = pod.status;
  const auto engine = searched.engine.engine();
  if (searched.engine.SetCandidates(PlacesOf(pod))) {
    LogLost(name, *engine, searched.engine.name(), "its pod has another address");
  }
  if (searched.engine.NeedsSearch(now)) finder_.Refresh(name.first, name.second);
  LogNotFound(name, searched);
}

std::vector<EngineAddress> EngineSearch::PlacesOf(const PodEngines& pod) const {
  std::vector<EngineAddress> places;
  for (const EngineCandidate& candidate : pod.candidates) {
    for (const std::string& text : candidate.addresses) {
      const auto address = ParseIpAddress(text);
      // A pod may give its network any address.
      if (!address.has_value() || !rules_.CheckAddress(*address).ok()) continue;
      places.push_back({.address = IpAddressText(*address),
                        .port = candidate.port,
                        .namespace_name = pod.namespace_name,
                        .pod = pod.pod});
    }
  }
  return places;
}

// Logs the reason once, and not while an engine may be starting.
void EngineSearch::LogNotFound(const PodName& name, PodState& searched) {
  const bool is_known = IsPermanent(searched.status) || searched.engine.IsLate(clock_.Now());
  if (searched.engine.engine().has_value() || !is_known || searched.is_logged) return;
  const auto dropped = log_limit_.Pass();
  if (!dropped) return;
  searched.is_logged = true;
  LogWarn("engine_not_found", {{"namespace", name.first},
                               {"pod", name.second},
                               {"why", searched.Why()},
                               {"dropped", *dropped}});
}

std::vector<EngineAddress> EngineSearch::Targets() {
  std::vector<EngineAddress> all;
  for (auto& [name, searched] : pods_) {
    const std::vector<EngineAddress> targets = searched.engine.Targets(clock_.Now());
    all.insert(all.end(), targets.begin(), targets.end());
  }
  return all;
}

bool EngineSearch::Take(const EngineAddress& place, const EngineUpdate& update) {
  const PodName name = {place.namespace_name, place.pod};
  const auto found = pods_.find(name);
  if (found == pods_.end()) return false;
  PodState& searched = found->second;
  const PodEngine::Change change = searched.engine.Take(place, update);
  if (change == PodEngine::Change::kLost) {
    LogLost(name, place, searched.engine.name(), update.reading.status().message());
  } else if (change == PodEngine::Change::kFound) {
    searched.is_logged = false;
    if (const auto dropped = log_limit_.Pass()) {
      LogInfo("engine_found", {{"namespace", name.first},
                               {"pod", name.second},
                               {"address", place.address},
                               {"port", place.port},
                               {"engine", searched.engine.name()},
                               {"dropped", *dropped}});
    }
  }
  return searched.engine.engine() == place;
}

void EngineSearch::LogLost(const PodName& pod, const EngineAddress& place,
                           const std::string& engine, absl::string_view why) {
  const auto dropped = log_limit_.Pass();
  if (!dropped) return;
  LogWarn("engine_lost", {{"namespace", pod.first},
                          {"pod", pod.second},
                          {"address", place.address},
                          {"port", place.port},
                          {"engine", engine},
                          {"why", why},
                          {"dropped", *dropped}});
}

NodeEngines EngineSearch::Found() const {
  NodeEngines found;
  std::set<std::string> covered = namespaces_;
  for (const auto& [name, searched] : pods_) {
    const bool is_young = clock_.Now() - searched.since < kFoundWithin;
    if (is_young && !searched.engine.WasProbed()) covered.erase(name.first);
  }
  found.namespaces.assign(covered.begin(), covered.end());
  for (const auto& [name, searched] : pods_) {
    if (!covered.contains(name.first)) continue;
    if (searched.engine.engine().has_value()) {
      found.places.push_back(*searched.engine.engine());
    } else {
      found.without.push_back(
          {.namespace_name = name.first, .pod = name.second, .why = searched.Why()});
    }
  }
  return found;
}

std::string EngineSearch::PodState::Why() const {
  return status.ok() ? engine.WhyNone() : std::string(status.message());
}

std::map<std::string, int> EngineSearch::Answering() const {
  std::map<std::string, int> answering;
  for (const auto& [name, searched] : pods_) {
    if (searched.engine.answers()) ++answering[searched.engine.name()];
  }
  return answering;
}

}  // namespace gpuscaler
