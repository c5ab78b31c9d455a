#include "kubelet/pod_resources.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/test_dropped_privileges.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"
#include "podresources.pb.h"
#include "wire/event_loop.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The socket at `path` must have no kubelet.
absl::Status ErrorOf(const std::string& path) {
  EventLoop loop;
  return ListPodDevices(loop, path, absl::Seconds(10)).status();
}

class PodResourcesTest : public testing::Test {
 protected:
  absl::StatusOr<std::vector<PodDevices>> List(absl::Duration timeout = absl::Seconds(10)) {
    return ListPodDevices(loop_, kubelet_.pod_resources_socket(), timeout);
  }

  const TestFolder folder_;
  FakeKubelet kubelet_{folder_.path()};
  EventLoop loop_;
};

TEST_F(PodResourcesTest, ListsTheDevicesOfEachPod) {
  const PodDevice gpu = {.container = "vllm", .resource = "nvidia.com/gpu", .id = "GPU-a"};
  const PodDevice nic = {.container = "proxy", .resource = "rdma/hca", .id = "mlx5_0"};
  const PodDevice claimed = {.container = "main",
                             .resource = "gpu.nvidia.com",
                             .id = "gpu-0",
                             .claim = "train/job-x7k2p-gpu-c4d5f",
                             .cdi_names = {"k8s.gpu.nvidia.com/device=gpu-0"}};
  kubelet_.AddPod("shop", "web-0", {gpu, nic});
  kubelet_.AddPod("train", "job-x7k2p", {claimed});
  const auto pods = List();
  ASSERT_TRUE(pods.ok()) << pods.status();
  ASSERT_EQ(pods->size(), 2);
  EXPECT_EQ(pods->at(0), (PodDevices{"shop", "web-0", {gpu, nic}}));
  EXPECT_EQ(pods->at(1), (PodDevices{"train", "job-x7k2p", {claimed}}));
}

// Some plugins have an id for each MiB of a GPU's memory.
TEST_F(PodResourcesTest, RepeatedIdsOfManyAreListedOnce) {
  constexpr int kIds = 200'000;
  ::v1::ListPodResourcesResponse response;
  auto& devices = *response.add_pod_resources()->add_containers()->add_devices();
  devices.set_resource_name("volcano.sh/vgpu-memory");
  for (int i = 0; i < kIds; ++i) devices.add_device_ids(absl::StrCat("GPU-a-", i));
  devices.add_device_ids("GPU-a-0");
  const std::vector<PodDevices> pods = PodDevicesIn(response);
  ASSERT_EQ(pods.size(), 1u);
  ASSERT_EQ(pods[0].devices.size(), size_t{kIds});
  EXPECT_EQ(pods[0].devices.front().id, "GPU-a-0");
  EXPECT_EQ(pods[0].devices.back().id, absl::StrCat("GPU-a-", kIds - 1));
}

// The fake repeats names in each row, as a kubelet does.
TEST_F(PodResourcesTest, EachDeviceOfAClaimHasOnlyItsOwnCdiNames) {
  const auto claimed = [](const std::string& id, const std::string& cdi_name) {
    return PodDevice{.container = "main",
                     .resource = "gpu.nvidia.com",
                     .id = id,
                     .claim = "train/gpus",
                     .cdi_names = {cdi_name}};
  };
  const PodDevice first = claimed("gpu-1", "k8s.gpu.nvidia.com/claim=dab5ab50-gpu-1");
  const PodDevice second = claimed("gpu-11", "k8s.gpu.nvidia.com/claim=dab5ab50-gpu-11");
  const PodDevice by_uuid = claimed("gpu-2", "k8s.gpu.nvidia.com/device=GPU-7a6bd0c9");
  const PodDevice other_by_uuid = claimed("gpu-3", "k8s.gpu.nvidia.com/device=GPU-8a6bd0c9");
  kubelet_.AddPod("train", "job-x7k2p", {first, second, by_uuid, other_by_uuid});
  const auto pods = List();
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_THAT(pods->at(0).devices, ElementsAre(first, second, by_uuid, other_by_uuid));
}

TEST_F(PodResourcesTest, UnpreparedClaimHasNoDevice) {
  kubelet_.AddPod("train", "job-x7k2p", {{.container = "main", .claim = "train/gpus"}});
  const auto pods = List();
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_THAT(*pods, ElementsAre(PodDevices{"train", "job-x7k2p", {}}));
}

TEST_F(PodResourcesTest, PodWithoutDevicesIsListedToo) {
  kubelet_.AddPod("kube-system", "coredns-6d4cf56db6-x7k2p", {});
  const auto pods = List();
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_THAT(*pods, ElementsAre(PodDevices{"kube-system", "coredns-6d4cf56db6-x7k2p", {}}));
}

TEST_F(PodResourcesTest, DeviceOfSeveralNumaNodesIsOne) {
  const PodDevice gpu = {.container = "vllm", .resource = "nvidia.com/gpu", .id = "GPU-a"};
  kubelet_.AddPod("shop", "web-0", {gpu, gpu});
  const auto pods = List();
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_THAT(pods->at(0).devices, ElementsAre(gpu));
}

// The answer has about 10 MiB: gRPC's own limit is 4.
TEST_F(PodResourcesTest, ReadsTheResponseOfADenseNode) {
  for (int i = 0; i < 100; ++i) {
    std::vector<PodDevice> devices;
    for (int k = 0; k < 100; ++k) {
      devices.push_back({.container = "main",
                         .resource = "example.com/a-resource-with-a-rather-long-name",
                         .id = absl::StrCat("device-", i, "-", k, std::string(1000, 'x'))});
    }
    kubelet_.AddPod("dense", absl::StrCat("pod-", i), devices);
  }
  const auto pods = List();
  ASSERT_TRUE(pods.ok()) << pods.status();
  EXPECT_EQ(pods->size(), 100);
}

TEST_F(PodResourcesTest, RestartedKubeletAnswersAtOnce) {
  ASSERT_TRUE(List().ok());
  kubelet_.Stop();
  const auto gone = List();
  EXPECT_EQ(gone.status().code(), absl::StatusCode::kNotFound) << gone.status();
  kubelet_.Start();
  const auto back = List();
  EXPECT_TRUE(back.ok()) << back.status();
}

TEST(PodResources, SocketOfAStoppedKubeletIsUnavailable) {
  const TestFolder folder;
  const std::string path = folder.PathOf("kubelet.sock");
  sockaddr_un address = {.sun_family = AF_UNIX};
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  close(fd);
  const absl::Status status = ErrorOf(path);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("connection refused"));
}

TEST_F(PodResourcesTest, SlowKubeletIsDeadlineExceeded) {
  kubelet_.Hang(true);
  const absl::Status status = List(absl::Milliseconds(50)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("no answer within 50ms"));
}

TEST_F(PodResourcesTest, ErrorOfTheKubeletIsReturned) {
  kubelet_.Fail(absl::ResourceExhaustedError("rejected by rate limit"));
  const absl::Status status = List().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("rejected by rate limit"));
}

TEST(PodResources, MissingSocketIsNotFound) {
  const absl::Status status = ErrorOf("/nonexistent/kubelet.sock");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("/nonexistent/kubelet.sock: no such socket"));
}

TEST(PodResources, ErrorNamesWhatIsInPlaceOfTheSocket) {
  const TestFolder folder;
  const std::string file = folder.Write("file", "text");
  for (const auto& [path, is] : {std::pair(folder.path(), "a directory"), {file, "a file"}}) {
    const absl::Status status = ErrorOf(path);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_EQ(std::string(status.message()), absl::StrCat(path, ": is ", is, ", and no socket"));
  }
}

TEST(PodResources, PathTooLongForASocketIsAnError) {
  const absl::Status status = ErrorOf("/" + std::string(200, 'x'));
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("too long"));
}

TEST_F(PodResourcesTest, SocketOfAnotherUserIsPermissionDenied) {
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(chmod(kubelet_.pod_resources_socket().c_str(), 0), 0);
  const DroppedPrivileges dropped;
  const absl::Status status = List().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("permission denied"));
}

}  // namespace
}  // namespace gpuscaler
