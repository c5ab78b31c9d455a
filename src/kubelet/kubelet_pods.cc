#include "kubelet/kubelet_pods.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "kubelet/kubelet_socket.h"
#include "model/pod.h"
#include "pod.pb.h"
#include "podsapi.pb.h"

namespace gpuscaler {
namespace {

// The response has whole pods with all environment variables. An object has 1.5 MiB at most, and a
// node some hundred pods.
constexpr size_t kMaxBytes = 64 << 20;

// A new pod has no conditions yet. Kubernetes counts it as not Ready too.
bool IsReady(const kubernetes::PodStatus& status) {
  return std::ranges::any_of(status.conditions(), [](const kubernetes::PodCondition& condition) {
    return condition.type() == "Ready" && condition.status() == "True";
  });
}

// The annotations that attribution reads. A pod may have others, of 256 KiB in total.
constexpr absl::string_view kKeptAnnotations[] = {
    "hami.io/vgpu-devices-allocated", "volcano.sh/vgpu-ids-new", "gpu-fraction", "gpu-memory",
    "gpu-fraction-container-name",
};
constexpr size_t kLongestAnnotation = 16 << 10;

std::map<std::string, std::string> KeptAnnotations(const kubernetes::ObjectMeta& metadata) {
  std::map<std::string, std::string> kept;
  for (const absl::string_view key : kKeptAnnotations) {
    const auto found = metadata.annotations().find(std::string(key));
    if (found == metadata.annotations().end() || found->second.size() > kLongestAnnotation) {
      continue;
    }
    kept.insert(*found);
  }
  return kept;
}

// The kubelet adds the source of each listed pod as an annotation.
bool IsStatic(const kubernetes::ObjectMeta& metadata) {
  const auto source = metadata.annotations().find("kubernetes.io/config.source");
  return source != metadata.annotations().end() && source->second != "api";
}

bool IsName(const std::string& text, size_t longest) {
  return !text.empty() && text.size() <= longest &&
         std::ranges::none_of(text, [](unsigned char c) { return absl::ascii_iscntrl(c); });
}

// Owner references may have any text. One that names no object is dropped: it could make this
// node's messages too long for every reader.
KubeletPod PodOf(const kubernetes::Pod& message) {
  const kubernetes::ObjectMeta& metadata = message.metadata();
  const kubernetes::PodStatus& status = message.status();
  KubeletPod pod = {
      .namespace_name = metadata.namespace_(),
      .name = metadata.name(),
      .uid = metadata.uid(),
      .labels = {metadata.labels().begin(), metadata.labels().end()},
      .annotations = KeptAnnotations(metadata),
      .is_static = IsStatic(metadata),
      .has_ended = status.phase() == "Succeeded" || status.phase() == "Failed",
      .ready = IsReady(status),
      .is_terminating = metadata.has_deletion_timestamp(),
      .address = status.pod_ip(),
      .is_in_node_network = status.host_ip() == status.pod_ip() && !status.pod_ip().empty()};
  if (status.has_start_time()) {
    pod.known_since = absl::FromUnixSeconds(status.start_time().seconds());
  }
  for (const kubernetes::OwnerReference& owner : metadata.owner_references()) {
    if (!IsName(owner.kind(), kLongestLabel) || !IsName(owner.name(), kLongestObjectName)) continue;
    pod.owner_references.push_back(
        {.kind = owner.kind(), .name = owner.name(), .is_controller = owner.controller()});
  }
  return pod;
}

}  // namespace

absl::StatusOr<std::vector<KubeletPod>> PodsIn(const ::v1alpha1::ListPodsResponse& response) {
  std::vector<KubeletPod> pods;
  for (const std::string& bytes : response.pods()) {
    kubernetes::Pod pod;
    if (!pod.ParseFromString(bytes)) return absl::InternalError("a pod that is none");
    pods.push_back(PodOf(pod));
  }
  return pods;
}

// Lists instead of watching: a slow watch is cut and loses events, so a list has to follow it now
// and then anyway.
absl::StatusOr<std::vector<KubeletPod>> ListKubeletPods(EventLoop& loop, const std::string& socket,
                                                        absl::Duration timeout) {
  ASSIGN_OR_RETURN(const std::string bytes,
                   CallKubelet(loop, socket, "/v1alpha1.Pods/ListPods", kMaxBytes, timeout));
  v1alpha1::ListPodsResponse response;
  if (!response.ParseFromString(bytes)) {
    return absl::InternalError(absl::StrCat(socket, ": the answer is no ListPodsResponse"));
  }
  auto pods = PodsIn(response);
  if (pods.ok()) return pods;
  return absl::InternalError(absl::StrCat(socket, ": ", pods.status().message()));
}

}  // namespace gpuscaler
