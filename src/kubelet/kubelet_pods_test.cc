#include "kubelet/kubelet_pods.h"

#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"
#include "wire/event_loop.h"

namespace gpuscaler {
namespace {

class KubeletPodsTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<KubeletPod>> List() {
    return ListKubeletPods(loop_, kubelet_.pods_api_socket(), absl::Seconds(10));
  }

  const TestFolder folder_;
  FakeKubelet kubelet_{folder_.path()};
  EventLoop loop_;
};

TEST_F(KubeletPodsTest, ReadsEveryFieldOfAPod) {
  kubelet_.ServePodsApi(true);
  KubeletPod reported = {.uid = "0f3c",
                         .labels = {{"app", "web"}, {"pod-template-hash", "6d4cf56db6"}},
                         .owner_references = {{"ReplicaSet", "web-6d4cf56db6", true}},
                         .ready = true,
                         .address = "10.0.0.7"};
  KubeletPod ended = {
      .uid = "1f3c", .has_ended = true, .is_terminating = true, .address = "10.0.0.8"};
  kubelet_.SetPods({{.devices = {"shop", "web-6d4cf56db6-x7k2p", {}}, .of_api = reported},
                    {.devices = {"shop", "job-x7k2p", {}}, .of_api = ended},
                    {.devices = {"shop", "new-x7k2p", {}}, .of_api = {}}});
  const auto pods = List();
  ASSERT_TRUE(pods.ok()) << pods.status();
  ASSERT_EQ(pods->size(), 3);
  const KubeletPod& web = pods->at(0);
  EXPECT_EQ(web.namespace_name, "shop");
  EXPECT_EQ(web.name, "web-6d4cf56db6-x7k2p");
  EXPECT_EQ(web.uid, "0f3c");
  EXPECT_EQ(web.labels, reported.labels);
  ASSERT_EQ(web.owner_references.size(), 1);
  EXPECT_EQ(web.owner_references[0].kind, "ReplicaSet");
  EXPECT_EQ(web.owner_references[0].name, "web-6d4cf56db6");
  EXPECT_TRUE(web.owner_references[0].is_controller);
  EXPECT_FALSE(web.has_ended);
  EXPECT_TRUE(web.ready);
  EXPECT_FALSE(web.is_terminating);
  EXPECT_EQ(web.address, "10.0.0.7");
  EXPECT_FALSE(web.is_in_node_network);
  EXPECT_TRUE(pods->at(1).has_ended);
  EXPECT_FALSE(pods->at(1).ready);
  EXPECT_TRUE(pods->at(1).is_terminating);
  EXPECT_FALSE(pods->at(2).ready) << "it has no condition yet";
}

TEST_F(KubeletPodsTest, RecognisesAPodInItsNodesNetwork) {
  kubelet_.ServePodsApi(true);
  const KubeletPod reported = {.address = "192.0.2.1", .is_in_node_network = true};
  kubelet_.SetPods({{.devices = {"shop", "web-x7k2p", {}}, .of_api = reported},
                    {.devices = {"shop", "new-x7k2p", {}}, .of_api = KubeletPod{}}});
  const auto pods = List();
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_TRUE(pods->at(0).is_in_node_network);
  EXPECT_FALSE(pods->at(1).is_in_node_network);
}

TEST_F(KubeletPodsTest, StaticPodIsNotFromTheApiServer) {
  kubelet_.ServePodsApi(true);
  kubelet_.SetPods({{.devices = {"kube-system", "etcd-gpu-7", {}}, .of_api = {.is_static = true}},
                    {.devices = {"shop", "web-x7k2p", {}}, .of_api = {}}});
  const auto pods = List();
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_TRUE(pods->at(0).is_static);
  EXPECT_FALSE(pods->at(1).is_static);
}

TEST_F(KubeletPodsTest, KeepsOnlyAnnotationsOfSharingSchedulers) {
  kubelet_.ServePodsApi(true);
  const KubeletPod reported = {
      .annotations = {{"gpu-fraction", "0.5"},
                      {"volcano.sh/vgpu-ids-new", std::string((16 << 10) + 1, 'x')},
                      {"kubectl.kubernetes.io/last-applied-configuration", "{}"}}};
  kubelet_.SetPods({{.devices = {"shop", "web-x7k2p", {}}, .of_api = reported}});
  const auto pods = List();
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_EQ(pods->at(0).annotations, (std::map<std::string, std::string>{{"gpu-fraction", "0.5"}}));
}

TEST_F(KubeletPodsTest, OwnerReferenceThatNamesNoObjectIsDropped) {
  kubelet_.ServePodsApi(true);
  const KubeletPod reported = {.owner_references = {{"ReplicaSet", std::string(1 << 20, 'x'), true},
                                                    {std::string(64, 'K'), "web", false},
                                                    {"", "web", false},
                                                    {"ReplicaSet", "web\n::error::", false},
                                                    {"Job", std::string(253, 'x'), false}}};
  kubelet_.SetPods({{.devices = {"shop", "web-x7k2p", {}}, .of_api = reported}});
  const auto pods = List();
  ASSERT_TRUE(pods.ok()) << pods.status();
  ASSERT_EQ(pods->at(0).owner_references.size(), 1);
  EXPECT_EQ(pods->at(0).owner_references[0].kind, "Job");
}

TEST_F(KubeletPodsTest, StartingKubeletIsFailedPrecondition) {
  kubelet_.ServePodsApi(true);
  kubelet_.Fail(absl::FailedPreconditionError("pods are not synced"));
  EXPECT_EQ(List().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(KubeletPodsTest, KubeletWithoutTheApiHasNoSocket) {
  EXPECT_EQ(List().status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace gpuscaler
