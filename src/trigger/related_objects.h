// Services and workloads in the same files as the ScaledObjects.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace YAML {
class Node;
}

namespace gpuscaler {

using Labels = std::map<std::string, std::string>;

struct ManifestService {
  std::string name;
  std::string namespace_name;            // empty: not in the file
  std::string type;                      // Kubernetes' default: "ClusterIP"
  std::vector<std::string> cluster_ips;  // "None": headless; empty: assigned by Kubernetes
  Labels selector;
  struct Port {
    std::string port;
    std::string target_port;  // a number or a container port's name; empty: not given
  };
  std::vector<Port> ports;

  // Returns true if one address stands for all pods: false for headless Services and for type
  // ExternalName.
  bool HasOneAddress() const;
  bool IsHeadless() const;    // its name resolves to the pods' addresses
  std::string Title() const;  // "Service default/llm"
};

struct ManifestContainer {
  std::string image;
  std::vector<std::string> words;  // command and args, split at every space, without quotes
};

// Any kind with pods: a Deployment, a StatefulSet, a LeaderWorkerSet.
struct ManifestWorkload {
  std::string kind;
  std::string name;
  std::string namespace_name;
  int replicas = 1;
  Labels labels;  // pod labels; a LeaderWorkerSet has the leaders'
  std::vector<ManifestContainer> containers;
};

struct RelatedObjects {
  std::vector<ManifestService> services;
  std::vector<ManifestWorkload> workloads;

  void Add(const RelatedObjects& others);

  // Returns the Service that a host means for a ScaledObject of that namespace: "llm",
  // "llm.team-a", "llm.team-a.svc.cluster.local" or a ClusterIP. Returns nullptr if there is none.
  const ManifestService* ServiceAt(absl::string_view host, absl::string_view namespace_name) const;

  // Returns nullptr if no file has the workload.
  const ManifestWorkload* WorkloadNamed(absl::string_view kind, absl::string_view name,
                                        absl::string_view namespace_name) const;

  std::vector<const ManifestWorkload*> SelectedBy(const ManifestService& service) const;
};

// Adds the object to `found` if it is a Service or has pods.
void AddObject(const YAML::Node& object, RelatedObjects& found);

// A host read as a Service's name; empty if it cannot be one.
struct ServiceName {
  std::string name;
  std::string namespace_name;  // empty: not given

  std::string Title() const;  // "default/llm"
};
ServiceName ServiceNameOf(absl::string_view host, absl::string_view namespace_name);

}  // namespace gpuscaler
