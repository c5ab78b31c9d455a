#include "signal/engine_search.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "engine/engines.h"
#include "page/cidr_block.h"

namespace gpuscaler {
namespace {

// The engines' default ports, each once.
std::vector<int> DefaultPorts() {
  std::vector<int> ports;
  for (const Engine* const engine : Engines()) {
    for (const int port : {engine->port, engine->newer_port}) {
      const bool is_new = std::ranges::find(ports, port) == ports.end();
      if (port != 0 && is_new) ports.push_back(port);
    }
  }
  return ports;
}

// Returns true if only a change of configuration can remove the error.
bool IsPermanent(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsPermissionDenied(status);
}

}  // namespace

EngineSearch::EngineSearch(const Clock& clock, NodeFolders folders)
    : clock_(clock),
      rules_(AllowedEndpoints()),
      finder_(clock, DefaultPorts(), std::move(folders)),
      log_limit_(clock, 20, absl::Seconds(10)) {}

void EngineSearch::Update(const NodeSnapshot& snapshot, const std::set<std::string>& namespaces) {
  namespaces_ = namespaces;
  std::map<PodName, SearchedPod> before = std::exchange(pods_, {});
  for (const PodServers& servers : finder_.Find(snapshot)) {
    if (!namespaces_.contains(servers.namespace_name)) continue;
    const PodName name = {servers.namespace_name, servers.pod};
    const auto known = before.find(name);
    if (known == before.end()) {
      UpdatePod(servers, pods_.emplace(name, SearchedPod(clock_.Now())).first->second);
    } else {
      UpdatePod(servers, pods_.emplace(name, std::move(known->second)).first->second);
      before.erase(known);
    }
  }
  for (const auto& [name, pod] : before) {
    if (!namespaces_.contains(name.first) || !pod.prober.answers()) continue;
    LogLost(name, *pod.prober.address(), pod.prober.engine(), "its pod is gone");
  }
}

void EngineSearch::UpdatePod(const PodServers& servers, SearchedPod& pod) {
  const PodName name = {servers.namespace_name, servers.pod};
  const absl::Time now = clock_.Now();
  pod.status = servers.status;
  const auto engine = pod.prober.address();
  if (pod.prober.SetCandidates(CandidatesOf(servers))) {
    LogLost(name, *engine, pod.prober.engine(), "its pod has another address");
  }
  if (pod.prober.NeedsSearch(now)) finder_.Refresh(name.first, name.second);
  LogNotFound(name, pod);
}

std::vector<EngineAddress> EngineSearch::CandidatesOf(const PodServers& servers) const {
  std::vector<EngineAddress> candidates;
  for (const EngineCandidate& candidate : servers.candidates) {
    for (const std::string& text : candidate.addresses) {
      const auto address = ParseIpAddress(text);
      // A pod with NET_ADMIN can add any address to its interface, so the rules must allow it.
      if (!address.has_value() || !rules_.CheckAddress(*address).ok()) continue;
      candidates.push_back({.address = IpAddressText(*address),
                            .port = candidate.port,
                            .namespace_name = servers.namespace_name,
                            .pod = servers.pod});
    }
  }
  return candidates;
}

// Logs the reason once, and not while an engine may be starting.
void EngineSearch::LogNotFound(const PodName& name, SearchedPod& pod) {
  const bool is_conclusive = IsPermanent(pod.status) || pod.prober.HasStartTimedOut(clock_.Now());
  if (pod.prober.address().has_value() || !is_conclusive || pod.is_logged) return;
  const auto dropped = log_limit_.Pass();
  if (!dropped) return;
  pod.is_logged = true;
  LogWarn(
      "engine_not_found",
      {{"namespace", name.first}, {"pod", name.second}, {"why", pod.Why()}, {"dropped", *dropped}});
}

std::vector<EngineAddress> EngineSearch::Targets() {
  std::vector<EngineAddress> all;
  for (auto& [name, pod] : pods_) {
    const std::vector<EngineAddress> targets = pod.prober.Targets(clock_.Now());
    all.insert(all.end(), targets.begin(), targets.end());
  }
  return all;
}

bool EngineSearch::Take(const EngineAddress& engine_address, const EngineUpdate& update) {
  const PodName name = {engine_address.namespace_name, engine_address.pod};
  const auto found = pods_.find(name);
  if (found == pods_.end()) return false;
  SearchedPod& pod = found->second;
  const EngineProber::Change change = pod.prober.Take(engine_address, update);
  if (change == EngineProber::Change::kLost) {
    LogLost(name, engine_address, pod.prober.engine(), update.reading.status().message());
  } else if (change == EngineProber::Change::kFound) {
    pod.is_logged = false;
    if (const auto dropped = log_limit_.Pass()) {
      LogInfo("engine_found", {{"namespace", name.first},
                               {"pod", name.second},
                               {"address", engine_address.address},
                               {"port", engine_address.port},
                               {"engine", pod.prober.engine()},
                               {"dropped", *dropped}});
    }
  }
  return pod.prober.address() == engine_address;
}

void EngineSearch::LogLost(const PodName& name, const EngineAddress& engine_address,
                           const std::string& engine, absl::string_view why) {
  const auto dropped = log_limit_.Pass();
  if (!dropped) return;
  LogWarn("engine_lost", {{"namespace", name.first},
                          {"pod", name.second},
                          {"address", engine_address.address},
                          {"port", engine_address.port},
                          {"engine", engine},
                          {"why", why},
                          {"dropped", *dropped}});
}

NodeEngines EngineSearch::Found() const {
  NodeEngines found;
  for (const std::string& name : namespaces_) found.namespaces[name];
  for (const auto& [name, pod] : pods_) {
    const bool is_young = clock_.Now() - pod.since < kEngineListTimeout;
    if (is_young && !pod.prober.WasProbed()) found.namespaces.erase(name.first);
  }
  for (const auto& [name, pod] : pods_) {
    if (pod.prober.address().has_value()) {
      found.Add(*pod.prober.address());
    } else {
      found.Add(MissingEngine{.namespace_name = name.first, .pod = name.second, .why = pod.Why()});
    }
  }
  return found;
}

std::string EngineSearch::SearchedPod::Why() const {
  return status.ok() ? prober.WhyNone() : std::string(status.message());
}

std::map<std::string, int> EngineSearch::Answering() const {
  std::map<std::string, int> answering;
  for (const auto& [name, pod] : pods_) {
    if (pod.prober.answers()) ++answering[pod.prober.engine()];
  }
  return answering;
}

}  // namespace gpuscaler
