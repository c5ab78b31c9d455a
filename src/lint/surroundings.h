// Services and the workloads behind them, as files have them beside the ScaledObjects.
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
  std::string namespace_name;            // empty where the file has none
  std::string type;                      // "ClusterIP" where it is not given, as Kubernetes has it
  std::vector<std::string> cluster_ips;  // "None": headless; empty: Kubernetes gives it one
  Labels selector;
  struct Port {
    std::string port;
    std::string target_port;  // a number or a container port's name; empty: not given
  };
  std::vector<Port> ports;

  // Behind which are all of its pods: not so of a headless one, nor of another's name.
  bool HasOneAddress() const;
  bool IsHeadless() const;    // its name has the addresses of its pods
  std::string Title() const;  // "Service default/llm"
};

struct ManifestContainer {
  std::string image;
  std::vector<std::string> words;  // command and args, split at spaces as a shell does
};

// Whatever makes pods: a Deployment, a StatefulSet, a LeaderWorkerSet.
struct ManifestWorkload {
  std::string kind;
  std::string name;
  std::string namespace_name;
  int replicas = 1;
  Labels labels;  // its pods' labels, of a LeaderWorkerSet the leaders'
  std::vector<ManifestContainer> containers;
};

struct Surroundings {
  std::vector<ManifestService> services;
  std::vector<ManifestWorkload> workloads;

  void Add(const Surroundings& others);

  // The Service that a host's name means for a ScaledObject of that namespace: "llm", "llm.team-a",
  // "llm.team-a.svc.cluster.local", or the address of one. Null: none of these.
  const ManifestService* ServiceAt(absl::string_view host, absl::string_view namespace_name) const;

  // Returns nullptr if no file has the workload.
  const ManifestWorkload* WorkloadNamed(absl::string_view kind, absl::string_view name,
                                        absl::string_view namespace_name) const;

  // Those whose pods are behind the Service.
  std::vector<const ManifestWorkload*> Behind(const ManifestService& service) const;
};

// What an object adds to them, if it is a Service or makes pods.
void AddObject(const YAML::Node& object, Surroundings& found);

// A host's name taken for a Service's; empty: it is none's.
struct ServiceName {
  std::string name;
  std::string namespace_name;  // empty: nobody said

  std::string Title() const;  // "default/llm"
};
ServiceName ServiceNameOf(absl::string_view host, absl::string_view namespace_name);

}  // namespace gpuscaler
