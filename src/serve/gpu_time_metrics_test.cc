#include "serve/gpu_time_metrics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/metric_family.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const absl::Time kCountedFrom = absl::FromUnixSeconds(1'767'225'600);

NodeSnapshot BusyAndFree(absl::Duration later) {
  NodeSnapshot snapshot{.taken_at = kCountedFrom + later, .node = "gpu-7"};
  snapshot.attribution.state = Attribution::State::kKnown;
  snapshot.pods.push_back({.namespace_name = "shop",
                           .name = "chat-0",
                           .owners = {{.kind = "StatefulSet", .name = "chat"}},
                           .ready = true});
  snapshot.gpus = {
      {.uuid = "GPU-a", .name = "NVIDIA H200", .utilization_percent = 40, .holders = {{.pod = 0}}},
      {.uuid = "GPU-b", .name = "NVIDIA H200", .utilization_percent = 0}};
  return snapshot;
}

TEST(GpuTimeMetrics, CountSecondsByStateAndWorkload) {
  GpuTimeMetrics metrics({.stale_after = absl::Seconds(5)});
  metrics.Read(BusyAndFree(absl::ZeroDuration()));
  EXPECT_TRUE(metrics.Families(kCountedFrom).empty());
  metrics.Read(BusyAndFree(absl::Milliseconds(2500)));
  const std::string text = MetricsText(metrics.Families(kCountedFrom + absl::Seconds(3)));
  EXPECT_THAT(text, HasSubstr("# TYPE keda_gpu_scaler_gpu_seconds_total counter"));
  EXPECT_THAT(text, HasSubstr(R"(gpu_seconds_total{namespace="shop",workload="chat",)"
                              R"(gpu_model="NVIDIA H200",node="gpu-7",state="busy"} 2.5)"));
  EXPECT_THAT(text, HasSubstr(R"(gpu_model="NVIDIA H200",node="gpu-7",state="free"} 2.5)"));
  EXPECT_THAT(text, Not(HasSubstr("unknown")));
}

TEST(GpuTimeMetrics, TimeWithoutReadingsIsUnknownWhileTheDriverHangs) {
  GpuTimeMetrics metrics({.stale_after = absl::Seconds(5)});
  metrics.Read(BusyAndFree(absl::ZeroDuration()));
  const std::string text = MetricsText(metrics.Families(kCountedFrom + absl::Seconds(65)));
  EXPECT_THAT(text, HasSubstr(R"(gpu_model="NVIDIA H200",node="gpu-7",state="unknown"} 120)"));
}

TEST(GpuPriceMetrics, EachModelHasItsPrice) {
  EXPECT_EQ(GpuPriceMetrics({}, "USD"), "");
  const std::string text = GpuPriceMetrics(
      {{"NVIDIA H200", {.micro_units = 2'450'000}}, {"NVIDIA L4", {.micro_units = 700'001}}},
      "USD");
  EXPECT_THAT(text, HasSubstr("# TYPE keda_gpu_scaler_gpu_hourly_price gauge"));
  EXPECT_THAT(text, HasSubstr(R"(gpu_hourly_price{gpu_model="NVIDIA H200",currency="USD"} 2.45)"));
  EXPECT_THAT(text,
              HasSubstr(R"(gpu_hourly_price{gpu_model="NVIDIA L4",currency="USD"} 0.700001)"));
}

}  // namespace
}  // namespace gpuscaler
