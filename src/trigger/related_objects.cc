#include "trigger/related_objects.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/host_name.h"
#include "trigger/yaml_objects.h"

namespace gpuscaler {
namespace {

constexpr char kHeadless[] = "None";

Labels LabelsIn(const YAML::Node& map) {
  Labels labels;
  if (!map.IsDefined() || !map.IsMap()) return labels;
  for (const auto& entry : map) labels[ScalarOf(entry.first)] = ScalarOf(entry.second);
  return labels;
}

std::vector<ManifestService::Port> PortsIn(const YAML::Node& list) {
  std::vector<ManifestService::Port> ports;
  if (!list.IsDefined() || !list.IsSequence()) return ports;
  for (const YAML::Node& port : list) {
    ports.push_back({ScalarOf(Child(port, "port")), ScalarOf(Child(port, "targetPort"))});
  }
  return ports;
}

ManifestService ServiceIn(const YAML::Node& object) {
  const YAML::Node metadata = Child(object, "metadata");
  const YAML::Node spec = Child(object, "spec");
  ManifestService service{.name = ScalarOf(Child(metadata, "name")),
                          .namespace_name = ScalarOf(Child(metadata, "namespace")),
                          .type = ScalarOf(Child(spec, "type")),
                          .selector = LabelsIn(Child(spec, "selector"))};
  if (service.type.empty()) service.type = "ClusterIP";
  service.ports = PortsIn(Child(spec, "ports"));
  const std::string first = ScalarOf(Child(spec, "clusterIP"));
  if (!first.empty()) service.cluster_ips.push_back(first);
  const YAML::Node all = Child(spec, "clusterIPs");
  if (!all.IsDefined() || !all.IsSequence()) return service;
  for (const YAML::Node& address : all) service.cluster_ips.push_back(ScalarOf(address));
  return service;
}

// Adds the words of each argument, because `sh -c` has a whole command line in one. Quotes are
// removed, and spaces within quotes split too, because flags and numbers have none.
void AddWords(const YAML::Node& list, std::vector<std::string>& words) {
  if (!list.IsDefined() || !list.IsSequence()) return;
  for (const YAML::Node& argument : list) {
    const std::string text = absl::StrReplaceAll(ScalarOf(argument), {{"\"", ""}, {"'", ""}});
    for (const absl::string_view word :
         absl::StrSplit(text, absl::ByAnyChar(" \t\n"), absl::SkipEmpty())) {
      words.emplace_back(word);
    }
  }
}

std::vector<ManifestContainer> ContainersIn(const YAML::Node& list) {
  std::vector<ManifestContainer> containers;
  if (!list.IsDefined() || !list.IsSequence()) return containers;
  for (const YAML::Node& each : list) {
    ManifestContainer container{.image = ScalarOf(Child(each, "image"))};
    AddWords(Child(each, "command"), container.words);
    AddWords(Child(each, "args"), container.words);
    containers.push_back(std::move(container));
  }
  return containers;
}

// A LeaderWorkerSet without a leaderTemplate uses the workerTemplate for all pods.
YAML::Node PodTemplateIn(const YAML::Node& spec) {
  const YAML::Node groups = Child(spec, "leaderWorkerTemplate");
  if (!groups.IsDefined()) return Child(spec, "template");
  const YAML::Node leaders = Child(groups, "leaderTemplate");
  return leaders.IsDefined() ? leaders : Child(groups, "workerTemplate");
}

ManifestWorkload WorkloadIn(const YAML::Node& object) {
  const YAML::Node metadata = Child(object, "metadata");
  const YAML::Node spec = Child(object, "spec");
  const YAML::Node pods = PodTemplateIn(spec);
  ManifestWorkload workload{.kind = ScalarOf(Child(object, "kind")),
                            .name = ScalarOf(Child(metadata, "name")),
                            .namespace_name = ScalarOf(Child(metadata, "namespace")),
                            .labels = LabelsIn(Child(Child(pods, "metadata"), "labels")),
                            .containers = ContainersIn(Child(Child(pods, "spec"), "containers"))};
  int replicas = 0;
  if (absl::SimpleAtoi(ScalarOf(Child(spec, "replicas")), &replicas)) workload.replicas = replicas;
  return workload;
}

// A namespace that the file omits may be any: it is set when the file is applied.
bool MayBeSameNamespace(absl::string_view a, absl::string_view b) {
  return a == b || a.empty() || b.empty();
}

bool Selects(const Labels& selector, const Labels& labels) {
  return !selector.empty() && std::ranges::all_of(selector, [&](const auto& wanted) {
    const auto found = labels.find(wanted.first);
    return found != labels.end() && found->second == wanted.second;
  });
}

}  // namespace

bool ManifestService::HasOneAddress() const { return type != "ExternalName" && !IsHeadless(); }

// Kubernetes refuses a headless Service of another type.
bool ManifestService::IsHeadless() const {
  return type == "ClusterIP" && !cluster_ips.empty() && cluster_ips.front() == kHeadless;
}

std::string ManifestService::Title() const {
  return absl::StrCat("Service ", ServiceName{name, namespace_name}.Title());
}

std::string ServiceName::Title() const {
  return absl::StrCat(namespace_name, namespace_name.empty() ? "" : "/", name);
}

void RelatedObjects::Add(const RelatedObjects& others) {
  services.insert(services.end(), others.services.begin(), others.services.end());
  workloads.insert(workloads.end(), others.workloads.begin(), others.workloads.end());
}

ServiceName ServiceNameOf(absl::string_view host, absl::string_view namespace_name) {
  if (!IsHostName(host)) return {};
  const std::vector<std::string> labels = absl::StrSplit(absl::StripSuffix(host, "."), '.');
  if (labels.size() == 1) return {labels[0], std::string(namespace_name)};
  if (labels.size() == 2 || labels[2] == "svc") return {labels[0], labels[1]};
  return {};  // a pod of a Service (pod.service.namespace.svc), or a host outside the cluster
}

const ManifestService* RelatedObjects::ServiceAt(absl::string_view host,
                                                 absl::string_view namespace_name) const {
  const ServiceName named = ServiceNameOf(host, namespace_name);
  const ManifestService* likely = nullptr;
  for (const ManifestService& service : services) {
    const bool is_its_address =
        named.name.empty() && std::ranges::count(service.cluster_ips, host) > 0;
    if (is_its_address) return &service;
    if (named.name.empty() || service.name != named.name) continue;
    if (service.namespace_name == named.namespace_name) return &service;
    if (MayBeSameNamespace(service.namespace_name, named.namespace_name)) likely = &service;
  }
  return likely;
}

const ManifestWorkload* RelatedObjects::WorkloadNamed(absl::string_view kind,
                                                      absl::string_view name,
                                                      absl::string_view namespace_name) const {
  const auto found = std::ranges::find_if(workloads, [&](const ManifestWorkload& workload) {
    return workload.kind == kind && workload.name == name &&
           MayBeSameNamespace(workload.namespace_name, namespace_name);
  });
  return found == workloads.end() ? nullptr : &*found;
}

std::vector<const ManifestWorkload*> RelatedObjects::SelectedBy(
    const ManifestService& service) const {
  std::vector<const ManifestWorkload*> selected;
  for (const ManifestWorkload& workload : workloads) {
    const bool is_selected = MayBeSameNamespace(workload.namespace_name, service.namespace_name) &&
                             Selects(service.selector, workload.labels);
    if (is_selected) selected.push_back(&workload);
  }
  return selected;
}

void AddObject(const YAML::Node& object, RelatedObjects& found) {
  if (ScalarOf(Child(object, "kind")) == "Service") {
    found.services.push_back(ServiceIn(object));
    return;
  }
  ManifestWorkload workload = WorkloadIn(object);
  if (workload.labels.empty() && workload.containers.empty()) return;
  found.workloads.push_back(std::move(workload));
}

}  // namespace gpuscaler
