#include "workload/shared_gpu.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;

std::string PodOf(int64_t pid) {
  static const auto* const pods =
      new std::map<int64_t, std::string>{{1, "a"}, {2, "b"}, {3, "b"}, {9, "stranger"}};
  const auto found = pods->find(pid);
  return found == pods->end() ? "" : found->second;
}

std::vector<double> Shares(std::optional<std::vector<GpuProcess>> processes,
                           const std::vector<std::string>& pods = {"a", "b"}) {
  GpuSample gpu;
  gpu.processes = std::move(processes);
  return SharesOf(gpu, pods, std::vector<GpuRequest>(pods.size()), PodOf).first;
}

std::vector<GpuProcess> Processes(const std::map<int64_t, std::optional<double>>& used) {
  std::vector<GpuProcess> processes;
  for (const auto& [pid, percent] : used) {
    processes.push_back({.pid = pid, .utilization_percent = percent});
  }
  return processes;
}

TEST(SharesOf, IsTheUseOfThePodsProcesses) {
  EXPECT_THAT(Shares(Processes({{1, 20}, {2, 30}, {3, 30}})), ElementsAre(0.25, 0.75));
}

TEST(SharesOf, IdlePodHasNone) {
  EXPECT_THAT(Shares(Processes({{1, 80}, {2, 0}})), ElementsAre(1, 0));
}

TEST(SharesOf, AnIdleGpuIsDividedEqually) {
  EXPECT_THAT(Shares(Processes({{1, 0}, {2, 0}})), ElementsAre(0.5, 0.5));
}

TEST(SharesOf, IsEqualIfAnyUseIsUnknown) {
  EXPECT_THAT(Shares(std::nullopt), ElementsAre(0.5, 0.5));
  EXPECT_THAT(Shares(Processes({})), ElementsAre(0.5, 0.5));
  // The driver does not report one process, or an active process has no known pod, or another pod.
  EXPECT_THAT(Shares(Processes({{1, 80}, {2, std::nullopt}})), ElementsAre(0.5, 0.5));
  EXPECT_THAT(Shares(Processes({{1, 80}, {7, 10}})), ElementsAre(0.5, 0.5));
  EXPECT_THAT(Shares(Processes({{1, 80}, {9, 10}})), ElementsAre(0.5, 0.5));
  // An idle process of another pod has no share.
  EXPECT_THAT(Shares(Processes({{1, 80}, {9, 0}})), ElementsAre(1, 0));
  // No process has a known pod.
  EXPECT_THAT(Shares(Processes({{7, 80}})), ElementsAre(0.5, 0.5));
}

TEST(SharesOf, AreTheRequestedPartsUnlessProcessesShowTheUse) {
  GpuSample gpu;
  gpu.memory_total_bytes = int64_t{40'000} << 20;
  const auto by_parts = [&](const std::vector<GpuRequest>& parts) {
    return SharesOf(gpu, std::vector<std::string>{"a", "b"}, parts, PodOf);
  };
  using testing::Pair;
  EXPECT_THAT(by_parts({{.fraction = 0.25}, {.fraction = 0.25}}),
              Pair(ElementsAre(0.5, 0.5), SharedBy::kParts));
  EXPECT_THAT(
      by_parts({{.fraction = 0.2}, {.fraction = 0.6}}),
      Pair(ElementsAre(testing::DoubleEq(0.25), testing::DoubleEq(0.75)), SharedBy::kParts));
  EXPECT_THAT(by_parts({{.fraction = 0.25}, {.memory_mib = 30'000}}),
              Pair(ElementsAre(0.25, 0.75), SharedBy::kParts));
  EXPECT_THAT(by_parts({{.fraction = 0.25}, {}}), Pair(ElementsAre(0.5, 0.5), SharedBy::kEqually));
  gpu.processes = Processes({{1, 30}, {2, 10}});
  EXPECT_THAT(by_parts({{.fraction = 0.25}, {.fraction = 0.25}}),
              Pair(ElementsAre(0.75, 0.25), SharedBy::kProcesses));
  gpu.processes = Processes({{1, 0}, {2, 0}});
  EXPECT_THAT(by_parts({{.fraction = 0.25}, {.fraction = 0.75}}),
              Pair(ElementsAre(0.25, 0.75), SharedBy::kParts));
  gpu.memory_total_bytes.reset();
  EXPECT_THAT(by_parts({{.fraction = 0.25}, {.memory_mib = 30'000}}),
              Pair(ElementsAre(0.5, 0.5), SharedBy::kEqually));
}

TEST(SharesOf, OnlyHolderHasItAll) { EXPECT_THAT(Shares(std::nullopt, {"a"}), ElementsAre(1)); }

}  // namespace
}  // namespace gpuscaler
