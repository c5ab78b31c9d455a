// GPUs of KAI and Run:ai on a node with a kubelet.
#include "workload/reserved_gpus.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workload/test_attributed_node.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class ReservedGpusTest : public AttributedNode {
 protected:
  using Labels = std::map<std::string, std::string>;

  ReservedGpusTest() { kubelet_.ServePodsApi(true); }

  static FakeKubelet::Pod Reservation(const std::string& gpu, const std::string& group,
                                      const char* namespace_name = "kai-resource-reservation") {
    return {.devices = {namespace_name, absl::StrCat("gpu-reservation-", group), {Gpu(gpu)}},
            .of_api = {.labels = {{"runai-gpu-group", group}}}};
  }

  static FakeKubelet::Pod Sharing(const std::string& name, const std::string& uid,
                                  const Labels& labels, const Labels& annotations = {}) {
    return {.devices = {"shop", name, {}},
            .of_api = {.uid = uid, .labels = labels, .annotations = annotations}};
  }

  // "web-0=0.25 web-1=0.75", "web-0? web-1?"
  static std::string Holders(const NodeSnapshot& snapshot, size_t gpu) {
    return absl::StrJoin(snapshot.gpus[gpu].holders, " ", [&](std::string* text, const auto& held) {
      const auto& pod = snapshot.pods[static_cast<size_t>(held.pod)];
      absl::StrAppend(text, pod.name, held.is_possible ? "?" : absl::StrCat("=", held.share));
    });
  }
};

TEST_F(ReservedGpusTest, PodsOfTheGroupShareTheGpuByTheirFractions) {
  for (const char* const of : {"kai-resource-reservation", "runai-reservation"}) {
    kubelet_.SetPods(
        {Reservation("GPU-sim-1", "g1", of),
         Sharing("web-0", kUid0, {{"runai-gpu-group", "g1"}},
                 {{"gpu-fraction", "0.2"}, {"gpu-fraction-container-name", "vllm"}}),
         Sharing("web-1", kUid1, {{"runai-gpu-group", "g1"}}, {{"gpu-fraction", "0.6"}}),
         Sharing("other", "", {{"runai-gpu-group", "g2"}}), Sharing("none", "", {})});
    Query();
    const NodeSnapshot snapshot = Read();
    EXPECT_EQ(snapshot.attribution.state, State::kKnown);
    EXPECT_EQ(Holders(snapshot, 0), "");
    EXPECT_EQ(Holders(snapshot, 1), "web-0=0.25 web-1=0.75");
    EXPECT_EQ(snapshot.gpus[1].holders[0].container, "vllm");
    EXPECT_EQ(snapshot.gpus[1].shared_by, SharedBy::kParts);
    EXPECT_EQ(snapshot.pods.size(), 2) << "the reservation holds nothing";
  }
}

// KAI's Helm value resourceReservation.namespace sets the namespace.
TEST_F(ReservedGpusTest, ReservationIsKnownByItsGroupInAnyNamespace) {
  FakeKubelet::Pod with_network_card = Sharing("web-1", kUid1, {{"runai-gpu-group", "g1"}});
  with_network_card.devices.devices = {
      {.container = "main", .resource = "rdma/hca", .id = "mlx5_0"}};
  kubelet_.SetPods({Reservation("GPU-sim-1", "g1", "gpu-reservation"),
                    Sharing("web-0", kUid0, {{"runai-gpu-group", "g1"}}), with_network_card,
                    Reservation("GPU-sim-0", "g0", "team-a")});
  Query();
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_EQ(Holders(snapshot, 0), "gpu-reservation-g0=1") << "alone in its group it holds the GPU";
  EXPECT_EQ(Holders(snapshot, 1), "web-0=0.5 web-1=0.5");
}

TEST_F(ReservedGpusTest, ProcessesComeBeforeFractions) {
  kubelet_.SetPods(
      {Reservation("GPU-sim-1", "g1"),
       Sharing("web-0", kUid0, {{"runai-gpu-group", "g1"}}, {{"gpu-fraction", "0.2"}}),
       Sharing("web-1", kUid1, {{"runai-gpu-group", "g1"}}, {{"gpu-fraction", "0.6"}})});
  Query();
  RunProcess(100, kUid0);
  processes_["GPU-sim-1"] = {{.pid = 100, .utilization_percent = 30}};
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(Holders(snapshot, 1), "web-0=1 web-1=0");
  EXPECT_EQ(snapshot.gpus[1].shared_by, SharedBy::kProcesses);
}

TEST_F(ReservedGpusTest, PodWithPartsOfSeveralGpusHasALabelForEach) {
  kubelet_.SetPods(
      {Reservation("GPU-sim-0", "g0"), Reservation("GPU-sim-1", "g1"),
       Sharing("web-0", kUid0, {{"runai-gpu-group/g0", "g0"}, {"runai-gpu-group/g1", "g1"}}),
       Sharing("web-1", kUid1, {{"runai-gpu-group", "g1"}}, {{"gpu-fraction", "0.5"}})});
  Query();
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(Holders(snapshot, 0), "web-0=1");
  EXPECT_EQ(Holders(snapshot, 1), "web-0=0.5 web-1=0.5");
  EXPECT_EQ(snapshot.gpus[1].shared_by, SharedBy::kEqually) << "one has no fraction";
}

TEST_F(ReservedGpusTest, GpuOfAGroupWithoutPodsIsFree) {
  FakeKubelet::Pod ended = Sharing("web-0", kUid0, {{"runai-gpu-group", "g1"}});
  ended.of_api.has_ended = true;
  kubelet_.SetPods({Reservation("GPU-sim-1", "g1"), ended});
  Query();
  const NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.state, State::kKnown);
  EXPECT_THAT(snapshot.gpus[1].holders, IsEmpty());
  EXPECT_THAT(snapshot.pods, IsEmpty());
}

TEST_F(ReservedGpusTest, WithoutThePodsApiProcessesShowThePodsElseTheyAreUnknown) {
  kubelet_.ServePodsApi(false);
  kubelet_.SetPods({Reservation("GPU-sim-1", "g1"),
                    Sharing("web-0", "", {}),
                    {.devices = {"shop",
                                 "web-1",
                                 {{.container = "main", .resource = "rdma/hca", .id = "mlx5_0"}}},
                     .of_api = {}},
                    Sharing("none", "", {}),
                    {.devices = {"shop", "whole", {Gpu("GPU-sim-0")}}, .of_api = {}}});
  Query();
  NodeSnapshot snapshot = Read();
  EXPECT_EQ(snapshot.attribution.why,
            "kai-resource-reservation/gpu-reservation-g1 holds GPU-sim-1 for pods that are not "
            "known, which may be GPU 1");
  EXPECT_EQ(Holders(snapshot, 0), "whole=1");
  EXPECT_EQ(Holders(snapshot, 1), "web-0? web-1? none?");
  EXPECT_EQ(snapshot.gpus[1].holders[0].container, "") << "as of a pod without a GPU";
  EXPECT_THAT(log_, HasSubstr("event=device_unmatched"));

  RunProcess(100, kUid0);
  RunProcess(101, kUid1);
  folder_.AddFolder(absl::StrCat("logs/shop_web-0_", kUid0));
  folder_.AddFolder(absl::StrCat("logs/shop_web-1_", kUid1));
  processes_["GPU-sim-1"] = {{.pid = 100, .utilization_percent = 30},
                             {.pid = 101, .utilization_percent = 10}};
  snapshot = Read();
  EXPECT_EQ(snapshot.attribution.why, "");
  EXPECT_EQ(Holders(snapshot, 1), "web-0=0.75 web-1=0.25");
}

TEST(GpuRequestOf, IsReadFromTheAnnotations) {
  const auto request = [](const char* fraction, const char* memory) {
    return GpuRequestOf({.annotations = {{"gpu-fraction", fraction}, {"gpu-memory", memory}}});
  };
  EXPECT_EQ(request("0.5", "2048"), (GpuRequest{.fraction = 0.5, .memory_mib = 2048}));
  for (const char* const wrong : {"", "x", "0", "-1", "nan", "inf"}) {
    EXPECT_EQ(request(wrong, wrong), GpuRequest()) << wrong;
  }
  EXPECT_EQ(request("1.5", ""), GpuRequest());
  EXPECT_EQ(GpuRequestOf({}), GpuRequest());
}

}  // namespace
}  // namespace gpuscaler
