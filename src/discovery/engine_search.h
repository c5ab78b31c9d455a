// The engines in the pods of one node: who may be asked, who is one, and why where none is.
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

// Not thread-safe. Logs what is found and lost.
class EngineSearch {
 public:
  // `clock` outlives it.
  EngineSearch(const Clock& clock, NodeFolders folders);

  // The pods of these namespaces that hold GPUs, and no others, from now on.
  void Look(const NodeSnapshot& snapshot, const std::set<std::string>& namespaces);
  void Stop() { pods_.clear(); }

  // Whom to ask now; changes with each Look() and Take().
  std::vector<EnginePlace> ToAsk();

  // True: of its pod's engine; false: of a server that is none.
  bool Take(const EnginePlace& place, const EngineUpdate& update);

  // In the namespaces of which each pod's servers were asked, or could be for kFoundWithin.
  NodeEngines Found() const;

  // Those that answer, by the engines' names.
  std::map<std::string, int> Answering() const;

 private:
  using PodName = std::pair<std::string, std::string>;  // namespace, name

  struct Searched {
    explicit Searched(absl::Time now) : since(now), engine(now) {}
    std::string Why() const;  // no engine is found

    absl::Time since;
    PodEngine engine;
    absl::Status status;  // PodEngines::status
    bool is_explained = false;
  };

  std::vector<EnginePlace> PlacesOf(const PodEngines& pod) const;
  void Follow(const PodEngines& pod, Searched& searched);
  void Explain(const PodName& name, Searched& searched);
  void LogLost(const PodName& pod, const EnginePlace& place, const std::string& engine,
               absl::string_view why);

  const Clock& clock_;
  const EndpointRules rules_;
  EngineFinder finder_;
  RateLimit log_limit_;  // who serves what in a pod is its tenant's to choose
  std::set<std::string> namespaces_;
  std::map<PodName, Searched> pods_;
};

}  // namespace gpuscaler
