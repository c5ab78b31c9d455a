// The engines in the pods of one node: which servers to probe, which of them are engines, and why a
// pod has none.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/rate_limit.h"
#include "discovery/engine_finder.h"
#include "discovery/pod_engine.h"
#include "endpoint/endpoint_rules.h"
#include "model/node_snapshot.h"
#include "signal/found_engines.h"

namespace gpuscaler {

// Not thread-safe. Logs engines that are found or lost.
class EngineSearch {
 public:
  // `clock` must outlive this object.
  EngineSearch(const Clock& clock, NodeFolders folders);

  // From now on searches the GPU pods of these namespaces only.
  void Update(const NodeSnapshot& snapshot, const std::set<std::string>& namespaces);
  void Stop() { pods_.clear(); }

  // Returns the servers to request now. Changes with each Update() and Take().
  std::vector<EngineAddress> Targets();

  // Returns true if the update is of its pod's engine, false if the server is no engine.
  bool Take(const EngineAddress& place, const EngineUpdate& update);

  // Returns the engines of those namespaces in which each pod's servers were probed, or could have
  // been for kFoundWithin.
  NodeEngines Found() const;

  // Returns the number of answering engines by engine name.
  std::map<std::string, int> Answering() const;

 private:
  using PodName = std::pair<std::string, std::string>;  // namespace, name

  struct PodState {
    explicit PodState(absl::Time now) : since(now), engine(now) {}
    std::string Why() const;  // why no engine is found

    absl::Time since;
    PodEngine engine;
    absl::Status status;  // PodEngines::status
    bool is_logged = false;
  };

  std::vector<EngineAddress> PlacesOf(const PodEngines& pod) const;
  void UpdatePod(const PodEngines& pod, PodState& searched);
  void LogNotFound(const PodName& name, PodState& searched);
  void LogLost(const PodName& pod, const EngineAddress& place, const std::string& engine,
               absl::string_view why);

  const Clock& clock_;
  const EndpointRules rules_;
  EngineFinder finder_;
  RateLimit log_limit_;  // tenants choose what listens in their pods
  std::set<std::string> namespaces_;
  std::map<PodName, PodState> pods_;
};

}  // namespace gpuscaler
