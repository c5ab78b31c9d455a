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
#include "model/node_snapshot.h"
#include "page/endpoint_rules.h"
#include "signal/engine_prober.h"
#include "signal/found_engines.h"
#include "signal/server_finder.h"

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
  bool Take(const EngineAddress& engine_address, const EngineUpdate& update);

  // A namespace is included once each of its GPU pods was probed or has been known for
  // kEngineListTimeout.
  NodeEngines Found() const;

  // The keys are engine names.
  std::map<std::string, int> Answering() const;

 private:
  using PodName = std::pair<std::string, std::string>;  // namespace, name

  struct SearchedPod {
    explicit SearchedPod(absl::Time now) : since(now), prober(now) {}
    std::string Why() const;  // why no engine is found

    absl::Time since;
    EngineProber prober;
    absl::Status status;  // PodServers::status
    bool is_logged = false;
  };

  std::vector<EngineAddress> CandidatesOf(const PodServers& servers) const;
  void UpdatePod(const PodServers& servers, SearchedPod& pod);
  void LogNotFound(const PodName& name, SearchedPod& pod);
  void LogLost(const PodName& name, const EngineAddress& engine_address, const std::string& engine,
               absl::string_view why);

  const Clock& clock_;
  const EndpointRules rules_;
  ServerFinder finder_;
  RateLimit log_limit_;  // tenants choose what listens in their pods
  std::set<std::string> namespaces_;
  std::map<PodName, SearchedPod> pods_;
};

}  // namespace gpuscaler
