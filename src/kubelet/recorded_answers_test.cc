// Compares the fake kubelet's answers with those of Kubernetes' own, which tests/e2e records.
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file_text.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"
#include "kubelet/kubelet_socket.h"
#include "pod.pb.h"
#include "podresources.pb.h"
#include "podsapi.pb.h"
#include "wire/event_loop.h"

namespace gpuscaler {
namespace {

// Removes what the program does not read: other conditions and annotations, and phases of pods that
// have not ended.
kubernetes::Pod ReadPart(kubernetes::Pod pod) {
  pod.mutable_metadata()->mutable_annotations()->erase("kubernetes.io/config.seen");
  if (pod.status().phase() == "Pending") pod.mutable_status()->set_phase("Running");
  pod.mutable_status()->clear_host_ip();  // the recorded node has no address
  google::protobuf::RepeatedPtrField<kubernetes::PodCondition>& conditions =
      *pod.mutable_status()->mutable_conditions();
  const auto is_other = [](const kubernetes::PodCondition& one) { return one.type() != "Ready"; };
  conditions.erase(std::remove_if(conditions.begin(), conditions.end(), is_other),
                   conditions.end());
  return pod;
}

class RecordedAnswersTest : public testing::TestWithParam<const char*> {
 protected:
  RecordedAnswersTest() {
    Parse(Recorded("pod_resources"), devices_);
    for (const absl::string_view text : absl::StrSplit(Recorded("pods"), "---\n")) {
      Parse(std::string(text), pods_.emplace_back());
    }
    kubelet_.ServePodsApi(true);
    kubelet_.SetPods(PodsRead());
  }

  template <typename Answer>
  Answer Query(const std::string& socket, const std::string& method) {
    const auto bytes = CallKubelet(loop_, socket, method, 1 << 20, absl::Seconds(10));
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    Answer answer;
    EXPECT_TRUE(answer.ParseFromString(*bytes));
    return answer;
  }

  EventLoop loop_;
  const TestFolder folder_;
  FakeKubelet kubelet_{folder_.path()};
  v1::ListPodResourcesResponse devices_;
  std::vector<kubernetes::Pod> pods_;

 private:
  static std::string Recorded(const char* api) {
    const auto text =
        ReadFileText(absl::StrCat(RECORDED_ANSWERS, "/", GetParam(), ".", api, ".txtpb"));
    EXPECT_TRUE(text.ok()) << text.status();
    return *text;
  }

  static void Parse(const std::string& text, google::protobuf::Message& message) {
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  }

  // Returns the pods that the program reads from the recorded answers, and the claims without
  // devices.
  std::vector<FakeKubelet::Pod> PodsRead() const {
    std::map<std::pair<std::string, std::string>, PodDevices> devices;
    for (const PodDevices& pod : PodDevicesIn(devices_)) {
      devices[{pod.namespace_name, pod.name}] = pod;
    }
    for (const v1::PodResources& pod : devices_.pod_resources()) {
      for (const v1::ContainerResources& container : pod.containers()) {
        for (const v1::DynamicResource& claim : container.dynamic_resources()) {
          if (claim.claim_resources_size() > 0) continue;
          devices[{pod.namespace_(), pod.name()}].devices.push_back(
              {.container = container.name(),
               .claim = absl::StrCat(claim.claim_namespace(), "/", claim.claim_name())});
        }
      }
    }
    v1alpha1::ListPodsResponse list;
    for (const kubernetes::Pod& pod : pods_) list.add_pods(pod.SerializeAsString());
    const auto read = PodsIn(list);
    EXPECT_TRUE(read.ok()) << read.status();
    std::vector<FakeKubelet::Pod> pods;
    for (const KubeletPod& pod : *read) {
      PodDevices& own = devices[{pod.namespace_name, pod.name}];
      own.namespace_name = pod.namespace_name;
      own.name = pod.name;
      pods.push_back({.devices = own, .of_api = pod});
    }
    return pods;
  }
};

TEST_P(RecordedAnswersTest, FakeListsTheSameDevices) {
  const auto answer = Query<v1::ListPodResourcesResponse>(kubelet_.pod_resources_socket(),
                                                          "/v1.PodResourcesLister/List");
  EXPECT_EQ(answer.DebugString(), devices_.DebugString());
}

TEST_P(RecordedAnswersTest, FakeListsTheSamePods) {
  const auto answer =
      Query<v1alpha1::ListPodsResponse>(kubelet_.pods_api_socket(), "/v1alpha1.Pods/ListPods");
  ASSERT_EQ(answer.pods_size(), pods_.size());
  for (size_t i = 0; i < pods_.size(); ++i) {
    kubernetes::Pod listed;
    ASSERT_TRUE(listed.ParseFromString(answer.pods(static_cast<int>(i))));
    EXPECT_EQ(ReadPart(listed).DebugString(), ReadPart(pods_[i]).DebugString());
  }
}

INSTANTIATE_TEST_SUITE_P(All, RecordedAnswersTest,
                         testing::Values("devices", "claims_one_unprepared", "claims"));

}  // namespace
}  // namespace gpuscaler
