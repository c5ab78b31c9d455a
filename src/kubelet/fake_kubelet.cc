#include "kubelet/fake_kubelet.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "pod.pb.h"
#include "podresources.pb.h"
#include "podsapi.pb.h"
#include "wire/methods.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

// Adds a device as a kubelet lists it: one message for all devices of a claim, and each row with
// the names of the rows before.
void AddClaimed(const PodDevice& device, v1::ContainerResources& container) {
  const std::pair<std::string, std::string> name = absl::StrSplit(device.claim, '/');
  const int claims = container.dynamic_resources_size();
  v1::DynamicResource* claim =
      claims == 0 ? nullptr : container.mutable_dynamic_resources(claims - 1);
  if (claim == nullptr || claim->claim_namespace() != name.first ||
      claim->claim_name() != name.second) {
    claim = container.add_dynamic_resources();
    claim->set_claim_namespace(name.first);
    claim->set_claim_name(name.second);
  }
  if (device.id.empty()) return;
  const int rows = claim->claim_resources_size();
  v1::ClaimResource& row = *claim->add_claim_resources();
  if (rows > 0 && claim->claim_resources(rows - 1).driver_name() == device.resource) {
    *row.mutable_cdi_devices() = claim->claim_resources(rows - 1).cdi_devices();
  }
  row.set_driver_name(device.resource);
  row.set_device_name(device.id);
  for (const std::string& cdi : device.cdi_names) row.add_cdi_devices()->set_name(cdi);
}

// Containers without devices are listed too. A pod without any device has one such container.
void Fill(const PodDevices& pod, v1::PodResources& message) {
  message.set_name(pod.name);
  message.set_namespace_(pod.namespace_name);
  if (pod.devices.empty()) message.add_containers()->set_name("main");
  v1::ContainerResources* container = nullptr;
  for (const PodDevice& device : pod.devices) {
    if (container == nullptr || container->name() != device.container) {
      container = message.add_containers();
      container->set_name(device.container);
    }
    if (!device.claim.empty()) {
      AddClaimed(device, *container);
      continue;
    }
    v1::ContainerDevices& devices = *container->add_devices();
    devices.set_resource_name(device.resource);
    devices.add_device_ids(device.id);
  }
}

std::string Bytes(const FakeKubelet::Pod& pod) {
  kubernetes::Pod message;
  kubernetes::ObjectMeta& metadata = *message.mutable_metadata();
  metadata.set_name(pod.devices.name);
  metadata.set_namespace_(pod.devices.namespace_name);
  metadata.set_uid(pod.of_api.uid);
  if (pod.of_api.is_terminating) metadata.mutable_deletion_timestamp();
  metadata.mutable_labels()->insert(pod.of_api.labels.begin(), pod.of_api.labels.end());
  metadata.mutable_annotations()->insert(pod.of_api.annotations.begin(),
                                         pod.of_api.annotations.end());
  metadata.mutable_annotations()->insert(
      {"kubernetes.io/config.source", pod.of_api.is_static ? "file" : "api"});
  for (const OwnerReference& reference : pod.of_api.owner_references) {
    kubernetes::OwnerReference& owner = *metadata.add_owner_references();
    owner.set_kind(reference.kind);
    owner.set_name(reference.name);
    owner.set_controller(reference.is_controller);
  }
  message.mutable_status()->set_phase(pod.of_api.has_ended ? "Succeeded" : "Running");
  message.mutable_status()->set_host_ip(pod.of_api.is_in_node_network ? pod.of_api.address
                                                                      : "192.0.2.1");
  message.mutable_status()->set_pod_ip(pod.of_api.address);
  if (pod.of_api.known_since) {
    message.mutable_status()->mutable_start_time()->set_seconds(
        absl::ToUnixSeconds(*pod.of_api.known_since));
  }
  const bool is_new = pod.of_api.address.empty() && !pod.of_api.ready && !pod.of_api.known_since;
  if (!is_new) {  // a pod that the kubelet has not started has no condition Ready
    kubernetes::PodCondition& condition = *message.mutable_status()->add_conditions();
    condition.set_type("Ready");
    condition.set_status(pod.of_api.ready ? "True" : "False");
  }
  return message.SerializeAsString();
}

std::unique_ptr<WireServer> Serve(const std::string& socket, const Methods::value_type& method) {
  return *WireServer::Start({.bind_address = absl::StrCat("unix:", socket)}, {method});
}

}  // namespace

FakeKubelet::FakeKubelet(const std::string& folder) : folder_(folder) {
  std::filesystem::create_directories(folder);
  Start();
}

FakeKubelet::~FakeKubelet() { Stop(); }

void FakeKubelet::Start() {
  servers_.push_back(Serve(pod_resources_socket(),
                           Unary<v1::ListPodResourcesRequest>(
                               "/v1.PodResourcesLister/List",
                               [this](const auto& call, const auto& /*request*/) { List(call); })));
  MutexLock lock(mutex_);
  if (!serves_pods_api_) return;
  servers_.push_back(
      Serve(pods_api_socket(),
            Unary<v1alpha1::ListPodsRequest>(
                "/v1alpha1.Pods/ListPods",
                [this](const auto& call, const auto& /*request*/) { ListPods(call); })));
}

void FakeKubelet::Stop() {
  servers_.clear();
  std::filesystem::remove(pod_resources_socket());
  std::filesystem::remove(pods_api_socket());
}

void FakeKubelet::List(const std::shared_ptr<ServerCall>& call) {
  MutexLock lock(mutex_);
  ++lists_;
  v1::ListPodResourcesResponse response;
  for (const Pod& pod : pods_) {
    if (pod.of_api.has_ended && !lists_ended_pods_) continue;
    Fill(pod.devices, *response.add_pod_resources());
  }
  Answer(call, failure_, response);
}

void FakeKubelet::ListPods(const std::shared_ptr<ServerCall>& call) {
  MutexLock lock(mutex_);
  v1alpha1::ListPodsResponse response;
  if (!api_is_empty_) {
    for (const Pod& pod : pods_) response.add_pods(Bytes(pod));
  }
  Answer(call, failure_.ok() ? api_failure_ : failure_, response);
}

void FakeKubelet::Answer(const std::shared_ptr<ServerCall>& call, const absl::Status& status,
                         const google::protobuf::MessageLite& response) const {
  if (hangs_) return;
  if (status.ok()) return Reply(*call, response);
  call->Finish(status);
}

void FakeKubelet::SetPods(std::vector<Pod> pods) {
  MutexLock lock(mutex_);
  pods_ = std::move(pods);
}

void FakeKubelet::AddPod(const std::string& namespace_name, const std::string& name,
                         std::vector<PodDevice> devices) {
  MutexLock lock(mutex_);
  pods_.push_back(
      {.devices = {.namespace_name = namespace_name, .name = name, .devices = std::move(devices)}});
}

void FakeKubelet::ListEndedPods(bool lists) {
  MutexLock lock(mutex_);
  lists_ended_pods_ = lists;
}

void FakeKubelet::Fail(absl::Status status) {
  MutexLock lock(mutex_);
  failure_ = std::move(status);
}

void FakeKubelet::FailPodsApi(absl::Status status) {
  MutexLock lock(mutex_);
  api_failure_ = std::move(status);
}

void FakeKubelet::EmptyPodsApi(bool empty) {
  MutexLock lock(mutex_);
  api_is_empty_ = empty;
}

void FakeKubelet::Hang(bool hangs) {
  MutexLock lock(mutex_);
  hangs_ = hangs;
}

void FakeKubelet::ServePodsApi(bool serves) {
  Stop();
  {
    MutexLock lock(mutex_);
    serves_pods_api_ = serves;
  }
  Start();
}

int FakeKubelet::lists() const {
  MutexLock lock(mutex_);
  return lists_;
}

}  // namespace gpuscaler
