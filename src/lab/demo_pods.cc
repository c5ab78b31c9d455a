#include "lab/demo_pods.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "lab/demo_triggers.h"
#include "simulate/gpu_slot.h"

namespace gpuscaler {
namespace {

// The hash of the pod template is in the name of the ReplicaSet and in a label.
constexpr char kTemplateHash[] = "6d4cf56db6";

// Returns five characters of Kubernetes' alphabet, which look random. They are distinct for the
// first 14 million numbers, because the factor and 27 have no common divisor.
std::string SuffixOf(int number) {
  constexpr absl::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  uint64_t rest = uint64_t{7'654'321} * (static_cast<uint64_t>(number) + 1);
  std::string suffix;
  for (int i = 0; i < 5; ++i) {
    suffix += kAlphabet[rest % kAlphabet.size()];
    rest /= kAlphabet.size();
  }
  return suffix;
}

FakeKubelet::Pod PodOfDeployment(const std::string& deployment, int number) {
  const std::string replica_set = absl::StrCat(deployment, "-", kTemplateHash);
  return {.devices = {.namespace_name = kDemoNamespace,
                      .name = absl::StrCat(replica_set, "-", SuffixOf(number))},
          .of_api = {.uid = absl::StrFormat("%s-%012d", "00000000-0000-0000-0000", number),
                     .labels = {{"pod-template-hash", kTemplateHash}},
                     .owner_references = {
                         {.kind = "ReplicaSet", .name = replica_set, .is_controller = true}}}};
}

}  // namespace

// `known_since` stays empty, because the scaler's clock is another.
FakeKubelet::Pod DemoReplicaPod(const DemoReplica& replica) {
  FakeKubelet::Pod pod = PodOfDeployment(kDemoName, replica.number() + 1);
  pod.devices.devices = {
      {.container = "engine", .resource = "nvidia.com/gpu", .id = SimulatedGpuUuid(replica.gpu())}};
  pod.of_api.ready = replica.ready();
  pod.of_api.is_terminating = replica.leaving();
  pod.of_api.address = replica.address();
  return pod;
}

FakeKubelet::Pod DemoGatewayPod() {
  FakeKubelet::Pod pod = PodOfDeployment("gateway", 0);
  pod.of_api.ready = true;
  pod.of_api.address = "127.0.0.1";
  return pod;
}

}  // namespace gpuscaler
