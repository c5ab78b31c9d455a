// Pods with GPUs of HAMi and Volcano: the kubelet's ids name GPUs that the pods do not have.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workload/test_attributed_node.h"

namespace gpuscaler {
namespace {

using testing::IsEmpty;

constexpr char kHami[] = "hami.io/vgpu-devices-allocated";
constexpr char kVirtualId[] = "GPU-7a6bd0c9-9b4c-4a3f-8a9e-1f6a2d3c4b5a-3";

class VirtualGpusTest : public AttributedNode {
 protected:
  VirtualGpusTest() { kubelet_.ServePodsApi(true); }

  static PodDevice Virtual(const std::string& container = "main",
                           const std::string& id = kVirtualId) {
    return {.container = container, .resource = "nvidia.com/gpu", .id = id};
  }

  static FakeKubelet::Pod Pod(const std::string& name, std::vector<PodDevice> devices,
                              const std::map<std::string, std::string>& annotations,
                              const std::string& uid = "") {
    return {.devices = {"shop", name, std::move(devices)},
            .of_api = {.uid = uid, .annotations = annotations}};
  }

  // "web-0/main web-1/main?"
  static std::string Holders(const NodeSnapshot& snapshot, size_t gpu) {
    return absl::StrJoin(snapshot.gpus[gpu].holders, " ", [&](std::string* text, const auto& held) {
      absl::StrAppend(text, snapshot.pods[static_cast<size_t>(held.pod)].name, "/", held.container,
                      held.is_possible ? "?" : "");
    });
  }
};

TEST_F(VirtualGpusTest, AnnotationOfThePodNamesTheGpu) {
  for (const char* const key : {kHami, "volcano.sh/vgpu-ids-new"}) {
    kubelet_.SetPods({Pod("web-0", {Virtual()}, {{key, "GPU-sim-1,NVIDIA,3000,30:;"}}),
                      Pod("web-1", {Virtual()}, {{key, "GPU-sim-1,NVIDIA,5000,0:;"}})});
    Query();
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kKnown);
    EXPECT_EQ(Holders(snapshot, 0), "");
    EXPECT_EQ(Holders(snapshot, 1), "web-0/main web-1/main");
    EXPECT_EQ(snapshot.gpus[1].holders[0].share, 0.5);
  }
}

TEST_F(VirtualGpusTest, EachContainerHasItsOwn) {
  const char both[] = "GPU-sim-1,NVIDIA,3000,30:;;GPU-sim-0,NVIDIA,1,1:GPU-sim-1,NVIDIA,1,1:;";
  kubelet_.SetPods(
      {Pod("web-0", {Virtual("a"), Virtual("b"), Virtual("b", absl::StrCat(kVirtualId, "1"))},
           {{kHami, both}})});
  Query();
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(Holders(snapshot, 0), "web-0/b");
  EXPECT_EQ(Holders(snapshot, 1), "web-0/a web-0/b");
}

TEST_F(VirtualGpusTest, FinishedInitContainersAreOnlyInTheAnnotation) {
  kubelet_.SetPods(
      {Pod("web-0", {Virtual()}, {{kHami, "GPU-sim-1,NVIDIA,1,1:;GPU-sim-1,NVIDIA,1,1:;"}})});
  Query();
  EXPECT_EQ(Holders(Read(), 1), "web-0/main");
  kubelet_.SetPods(
      {Pod("web-0", {Virtual()}, {{kHami, "GPU-sim-0,NVIDIA,1,1:;GPU-sim-1,NVIDIA,1,1:;"}})});
  Query();
  EXPECT_EQ(Holders(Read(), 0), "web-0/main?") << "which is the container's";
  EXPECT_EQ(Holders(Read(), 1), "web-0/main?");
}

TEST_F(VirtualGpusTest, ProcessesNameTheGpuOfAPodWithoutTheAnnotation) {
  kubelet_.SetPods({Pod("web-0", {Virtual()}, {{kHami, "GPU-sim-1,NVIDIA,3000,30:;"}}, kUid0),
                    Pod("web-1", {Virtual()}, {}, kUid1)});
  Query();
  NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.why,
            absl::StrCat("shop/web-1 holds ", kVirtualId,
                         " of nvidia.com/gpu, which may be one of GPUs 0, 1"));
  EXPECT_EQ(Holders(snapshot, 0), "web-1/main?");
  RunProcess(101, kUid1);
  processes_["GPU-sim-1"] = {{.pid = 101}};
  snapshot = Read();
  EXPECT_EQ(snapshot.attribution.why, "");
  EXPECT_EQ(Holders(snapshot, 0), "");
  EXPECT_EQ(Holders(snapshot, 1), "web-0/main web-1/main") << "beside another";
}

TEST_F(VirtualGpusTest, GpuIsUnknownThoughAllOfThemAreShared) {
  kubelet_.SetPods({Pod("web-0", {Virtual()}, {{kHami, "GPU-sim-0,NVIDIA,3000,30:;"}}),
                    Pod("web-1", {Virtual()}, {{kHami, "GPU-sim-1,NVIDIA,3000,30:;"}}),
                    Pod("web-2", {Virtual()}, {})});
  Query();
  EXPECT_EQ(Holders(Read(), 0), "web-0/main? web-2/main?");
  EXPECT_EQ(Holders(Read(), 1), "web-1/main? web-2/main?");
}

TEST_F(VirtualGpusTest, PodsThatShareAGpuAreKnownIfThePodsOfAllItsProcessesAre) {
  kubelet_.SetPods({Pod("web-0", {Virtual()}, {{kHami, "GPU-sim-0,NVIDIA,3000,30:;"}}, kUid0),
                    Pod("web-1", {Virtual()}, {{kHami, "GPU-sim-1,NVIDIA,3000,30:;"}}, kUid1),
                    Pod("web-2", {Virtual()}, {})});
  Query();
  RunProcess(100, kUid0);
  RunProcess(101, kUid1);
  processes_["GPU-sim-0"] = {{.pid = 100}};
  processes_["GPU-sim-1"] = {{.pid = 101}, {.pid = 102}};
  EXPECT_EQ(Holders(Read(), 0), "web-0/main web-2/main?");
  EXPECT_EQ(Read().gpus[0].holders[0].share, 1);
  EXPECT_EQ(Holders(Read(), 1), "web-1/main? web-2/main?") << "a process that is not known";
}

TEST_F(VirtualGpusTest, InstanceMadeOnDemandIsUnknown) {
  kubelet_.SetPods({Pod("web-0", {Virtual()}, {{kHami, "GPU-sim-1[0-1],NVIDIA,3000,30:;"}})});
  Query();
  EXPECT_EQ(Holders(Read(), 0), "web-0/main?");
  EXPECT_EQ(Holders(Read(), 1), "web-0/main?");
}

TEST_F(VirtualGpusTest, WholeGpusAreThoseOfTheKubelet) {
  kubelet_.SetPods({Pod("web-0", {Gpu("GPU-sim-0")}, {{kHami, "GPU-sim-1,NVIDIA,3000,30:;"}})});
  Query();
  EXPECT_EQ(Holders(Read(), 0), "web-0/main");
  EXPECT_THAT(Read().gpus[1].holders, IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
