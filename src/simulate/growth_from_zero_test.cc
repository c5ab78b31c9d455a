// The time in which a Deployment grows from 0 to 8 replicas without engine readings, with and
// without the kubelet's Pods API (Kubernetes 1.37). The load is constant, and replicas are fully
// busy until enough of them are Ready.
#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/duration_text.h"
#include "gtest/gtest.h"
#include "simulate/test_cluster_loop.h"
#include "trigger/test_parsed_trigger.h"

namespace gpuscaler {
namespace {

constexpr int kGrowsTo = 8;
constexpr double kGrowthLoad = 7.75;  // in targets
constexpr PodTemplate kGrowthPods{.start = absl::Seconds(60), .start_spread = absl::Seconds(60)};

// Mean times since the creation of a pod: 2 s until it is scheduled and a start of 90 s. Its VRAM
// is loaded after 70 % of the start.
constexpr absl::Duration kMeanReady = absl::Seconds(92);
constexpr absl::Duration kMeanLoaded = absl::Seconds(65);

// A busy replica counts 1.25 targets, so the load adds one replica at a time. A step begins when
// the newest replica counts. It takes up to 30 s of `window`, until the mean exceeds the HPA's
// tolerance, and up to 15 s until the HPA syncs. The slowest last pod starts in 120 s.
absl::Duration GrowthLimit(int steps, absl::Duration until_counted) {
  return steps * (until_counted + absl::Seconds(30 + 15)) + absl::Seconds(120);
}

struct GrowthCase {
  const char* name;
  Metadata trigger;
  absl::Duration limit;  // with the Pods API
  absl::Duration limit_without_pods_api;

  friend void PrintTo(const GrowthCase& growth, std::ostream* out) { *out << growth.name; }
};

class GrowthFromZeroTest : public testing::TestWithParam<std::tuple<GrowthCase, bool, int>> {};

std::vector<GrowthCase> GrowthCases() {
  return {
      // Five replicas lead to two more, so there are 6 steps. Without the Pods API and warm-up a
      // pod counts from its creation, but adds nothing before it is Ready.
      {.name = "GpuUtilization",
       .trigger = {{"metricType", "gpu_utilization"}},
       .limit = GrowthLimit(6, kMeanReady),
       .limit_without_pods_api = GrowthLimit(6, kMeanReady)},
      // Without the Pods API this start ends after a fixed time.
      {.name = "GpuUtilizationWithWarmup",
       .trigger = {{"metricType", "gpu_utilization"}, {"warmupSeconds", "300"}},
       .limit = GrowthLimit(6, kMeanReady),
       .limit_without_pods_api = GrowthLimit(6, absl::Seconds(2 + 300))},
      // With the Pods API a Ready replica counts at most the target until its VRAM was observed for
      // 120 s. The first and the last step need more, and wait for that. Without the Pods API a
      // start ends when the VRAM has not changed for 120 s.
      {.name = "VllmInference",
       .trigger = {{"profile", "vllm-inference"}},
       .limit = GrowthLimit(7, kMeanReady) + 2 * absl::Seconds(120),
       .limit_without_pods_api = GrowthLimit(7, kMeanLoaded + absl::Seconds(120))},
      {.name = "VllmInferenceWithAShortPreallocationWindow",
       .trigger = {{"profile", "vllm-inference"}, {"preallocationWindow", "30s"}},
       .limit = GrowthLimit(7, kMeanReady) + 2 * absl::Seconds(30),
       .limit_without_pods_api = GrowthLimit(7, kMeanLoaded + absl::Seconds(30))},
  };
}

std::string GrowthName(const testing::TestParamInfo<GrowthFromZeroTest::ParamType>& info) {
  const auto& [growth, pods_api, max_replicas] = info.param;
  return absl::StrCat(growth.name, pods_api ? "" : "WithoutPodsApi", "Max", max_replicas);
}

INSTANTIATE_TEST_SUITE_P(All, GrowthFromZeroTest,
                         testing::Combine(testing::ValuesIn(GrowthCases()), testing::Bool(),
                                          testing::Values(kGrowsTo, 20)),
                         GrowthName);

// Starts at 0 replicas; a trigger on requests held by a gateway wakes the first one.
TEST_P(GrowthFromZeroTest, EightReplicasAreReadyInTime) {
  const auto& [growth, pods_api, max_replicas] = GetParam();
  ClusterLoop loop(
      {.cluster = {.pods_api = pods_api},
       .replicas = 0,
       .wakes_from_zero = true,
       .load = 0,
       .scaled_object = {.min_replica_count = 0, .max_replica_count = max_replicas}},
      Parsed(growth.trigger),
      std::make_unique<DeploymentController>(kGrowthPods, DeploymentController::Strategy{}));
  loop.SetLoad(kGrowthLoad);
  const absl::Time begin = loop.cluster().now();
  const absl::Duration limit = pods_api ? growth.limit : growth.limit_without_pods_api;
  int replicas = 0;
  while (loop.cluster().Available() < kGrowsTo && loop.cluster().now() - begin < absl::Hours(1)) {
    loop.RunFor(absl::Seconds(1));
    ASSERT_GE(loop.replicas(), replicas) << loop.Timeline();
    replicas = loop.replicas();
  }
  const absl::Duration grew_in = loop.cluster().now() - begin;
  RecordProperty("timeline", loop.Timeline());  // --gtest_output=xml
  RecordProperty("grew_in", DurationText(grew_in));
  EXPECT_LE(grew_in, limit) << loop.Timeline();
  loop.RunFor(absl::Minutes(15));
  EXPECT_EQ(loop.replicas(), kGrowsTo) << loop.Timeline();
  EXPECT_EQ(loop.most(), kGrowsTo) << loop.Timeline();
}

}  // namespace
}  // namespace gpuscaler
