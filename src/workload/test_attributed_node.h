// A node with a kubelet, for tests of attribution.
//
//   class AttributionTest : public AttributedNode {};
//   kubelet_.AddPod("shop", "web-0", {Gpu("GPU-sim-0")});
//   Query();
//   Read().gpus[0].holders
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fake_clock.h"
#include "base/test_folder.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"
#include "workload/attribution.h"

namespace gpuscaler {

// A node with a fake kubelet, and the attribution that queries it.
class AttributedNode : public testing::Test {
 protected:
  using State = Attribution::State;

  static constexpr char kUid0[] = "0f3c1d2e-5a6b-4c7d-8e9f-a0b1c2d3e4f5";
  static constexpr char kUid1[] = "1f3c1d2e-5a6b-4c7d-8e9f-a0b1c2d3e4f5";

  explicit AttributedNode(const std::string& own_pod = "", std::vector<IgnoredPods> ignored = {})
      : kubelet_(folder_.PathOf("sockets")),
        attribution_(clock_,
                     {.pod_resources = kubelet_.pod_resources_socket(),
                      .pods_api = {folder_.PathOf("absent.sock"), kubelet_.pods_api_socket()}},
                     absl::Seconds(10),
                     {.proc = folder_.PathOf("proc"),
                      .pod_logs = folder_.PathOf("logs"),
                      .cdi = folder_.PathOf("cdi"),
                      .dra_plugin = folder_.PathOf("plugin")},
                     own_pod, std::move(ignored),
                     {"kai-resource-reservation", "runai-reservation"}) {}

  static PodDevice Gpu(const std::string& id) {
    return {.container = "main", .resource = "nvidia.com/gpu", .id = id};
  }

  // The log of a query.
  std::string Query() {
    clock_.Advance(kKubeletInterval);
    testing::internal::CaptureStderr();
    attribution_.Query();
    return testing::internal::GetCapturedStderr();
  }

  // Returns a reading of two GPUs and those that never answered. Sets `log_`.
  NodeSnapshot Read() {
    NodeSnapshot snapshot;
    snapshot.taken_at = clock_.Now();
    for (const char* const uuid : {"GPU-sim-0", "GPU-sim-1"}) {
      GpuSample gpu;
      gpu.uuid = uuid;
      gpu.index = static_cast<int>(snapshot.gpus.size());
      if (minors_.contains(uuid)) gpu.minor_number = minors_[uuid];
      if (!without_list_.contains(uuid)) gpu.processes = processes_[uuid];
      snapshot.gpus.push_back(std::move(gpu));
    }
    snapshot.gpus.Own().insert(snapshot.gpus.end(), instances_.begin(), instances_.end());
    for (int i = 2; i < 2 + never_answered_; ++i) {
      snapshot.gpus.push_back({.uuid = UnknownGpuUuid(i), .index = i});
    }
    testing::internal::CaptureStderr();
    query_requested_ = attribution_.Annotate(snapshot);
    log_ = testing::internal::GetCapturedStderr();
    return snapshot;
  }

  void RunProcess(int64_t pid, const std::string& uid) const {
    folder_.Write(absl::StrCat("proc/", pid, "/stat"),
                  absl::StrCat(pid, " (x) S 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 77 0\n"));
    folder_.Write(absl::StrCat("proc/", pid, "/cgroup"),
                  absl::StrCat("0::/kubepods/pod", uid, "/", std::string(64, 'a')));
  }

  // Returns "Deployment/web ..." of the first pod.
  static std::string Owners(const NodeSnapshot& snapshot) {
    if (snapshot.pods.empty()) return "no pod";
    return absl::StrJoin(snapshot.pods[0].owners, " ", [](std::string* text, const auto& owner) {
      absl::StrAppend(text, owner.kind, "/", owner.name);
    });
  }

  const TestFolder folder_;
  FakeClock clock_;
  FakeKubelet kubelet_;
  KubeletAttribution attribution_;
  std::map<std::string, std::vector<GpuProcess>> processes_;  // key: uuid
  std::map<std::string, int> minors_;                         // key: uuid; absent: unknown
  std::vector<GpuSample> instances_;
  std::set<std::string> without_list_;  // uuids of GPUs without a process list
  int never_answered_ = 0;              // more GPUs, which never answered
  bool query_requested_ = false;
  std::string log_;  // log of the last Read()
};

}  // namespace gpuscaler
