#include "serve/metrics.h"

#include <cstdio>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "serve/gpu_families.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

constexpr char kLabels[] =
    R"({gpu_index="0",gpu_uuid="GPU-a",gpu_name="NVIDIA H200",gpu_parent_uuid="")";

GpuSample FullSample() {
  return {.uuid = "GPU-a",
          .name = "NVIDIA H200",
          .utilization_percent = 87.5,
          .memory_utilization_percent = 40,
          .memory_used_bytes = 1'000,
          .memory_total_bytes = 2'000,
          .temperature_celsius = 61,
          .power_watts = 512.25,
          .power_limit_watts = 700,
          .pcie_tx_kbps = 11,
          .pcie_rx_kbps = 12,
          .nvlink_tx_mbps = 13,
          .nvlink_rx_mbps = 14,
          .sm_activity_percent = 15,
          .dram_activity_percent = 16,
          .tensor_activity_percent = 17,
          .ecc_uncorrected_errors = 2,
          .throttle_reasons = 0x24};
}

// The lines of the page without the prefix of the metric names.
std::vector<std::string> Lines(const std::string& page) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(page, '\n')) {
    if (absl::StartsWith(line, "keda_gpu_scaler_")) {
      lines.emplace_back(line.substr(sizeof("keda_gpu_scaler_") - 1));
    }
  }
  return lines;
}

constexpr absl::Duration kStaleAfter = absl::Seconds(6);

class MetricsTest : public testing::Test {
 protected:
  NodeSnapshot Snapshot(std::vector<GpuSample> gpus) const {
    return {.taken_at = clock_.Now(), .gpus = std::move(gpus)};
  }
  std::vector<std::string> Page(const NodeSnapshot& snapshot) const {
    return Lines(metrics_.Page(&snapshot, clock_.Now(), kStaleAfter));
  }
  std::vector<std::string> Page() const {
    return Lines(metrics_.Page(nullptr, clock_.Now(), kStaleAfter));
  }

  FakeClock clock_;
  Metrics metrics_;
};

TEST_F(MetricsTest, ShowsEveryValueOfAGpuWithTheReferencesNamesAndLabels) {
  const std::vector<std::string> page = Page(Snapshot({FullSample()}));
  for (const std::string& line :
       {absl::StrCat("gpu_utilization_percent", kLabels, "} 87.5"),
        absl::StrCat("gpu_memory_utilization_percent", kLabels, "} 40"),
        absl::StrCat("gpu_memory_used_bytes", kLabels, "} 1000"),
        absl::StrCat("gpu_memory_total_bytes", kLabels, "} 2000"),
        absl::StrCat("gpu_temperature_celsius", kLabels, "} 61"),
        absl::StrCat("gpu_power_draw_watts", kLabels, "} 512.25"),
        absl::StrCat("gpu_power_limit_watts", kLabels, "} 700"),
        absl::StrCat("gpu_pcie_throughput_kbps", kLabels, R"(,direction="tx"} 11)"),
        absl::StrCat("gpu_pcie_throughput_kbps", kLabels, R"(,direction="rx"} 12)"),
        absl::StrCat("gpu_nvlink_throughput_mbps", kLabels, R"(,direction="tx"} 13)"),
        absl::StrCat("gpu_nvlink_throughput_mbps", kLabels, R"(,direction="rx"} 14)"),
        absl::StrCat("gpu_activity_percent", kLabels, R"(,part="sm"} 15)"),
        absl::StrCat("gpu_activity_percent", kLabels, R"(,part="dram"} 16)"),
        absl::StrCat("gpu_activity_percent", kLabels, R"(,part="tensor"} 17)"),
        absl::StrCat("gpu_ecc_uncorrected_errors_total", kLabels, "} 2"),
        absl::StrCat("gpu_in_use", kLabels, "} 0"),
        absl::StrCat("gpu_throttle_reason", kLabels, R"(,reason="sw_power_cap"} 1)"),
        absl::StrCat("gpu_throttle_reason", kLabels, R"(,reason="hw_slowdown"} 0)"),
        std::string("snapshot_gpus 1")}) {
    EXPECT_THAT(page, Contains(line));
  }
}

TEST_F(MetricsTest, BytesOfALargeGpuKeepEveryDigit) {
  GpuSample gpu = FullSample();
  gpu.memory_total_bytes = 150'754'820'095;
  EXPECT_THAT(Page(Snapshot({gpu})),
              Contains(absl::StrCat("gpu_memory_total_bytes", kLabels, "} 150754820095")));
}

TEST_F(MetricsTest, UnreadFieldHasNoSeriesButAReadFailure) {
  GpuSample gpu = FullSample();
  gpu.utilization_percent.reset();
  gpu.pcie_tx_kbps.reset();
  gpu.pcie_rx_kbps.reset();
  gpu.gaps = {{GpuField::kUtilization, GpuGap::Reason::kFailed, "NVML error 15"},
              {GpuField::kUtilization, GpuGap::Reason::kFailed, "NVML error 999"},
              {GpuField::kPcie, GpuGap::Reason::kNotRequested, ""}};
  const std::vector<std::string> page = Page(Snapshot({gpu}));
  EXPECT_THAT(page, Not(Contains(StartsWith("gpu_utilization_percent"))));
  EXPECT_THAT(page, Not(Contains(StartsWith("gpu_pcie"))));
  const std::string failure =
      absl::StrCat("gpu_read_failures", kLabels, R"(,field="utilization"} 1)");
  EXPECT_EQ(std::ranges::count(page, failure), 1);
  EXPECT_THAT(page, Not(Contains(HasSubstr(R"(field="pcie")"))));
}

TEST_F(MetricsTest, LostGpuLosesItsSeries) {
  GpuSample other = FullSample();
  other.uuid = "GPU-b";
  EXPECT_THAT(Page(Snapshot({FullSample(), other})), Contains(HasSubstr("GPU-b")));
  EXPECT_THAT(Page(Snapshot({FullSample()})), Not(Contains(HasSubstr("GPU-b"))));
}

TEST_F(MetricsTest, MigInstanceHasSeriesOfItsOwnThatNameItsGpu) {
  GpuSample mig = FullSample();
  mig.uuid = "MIG-1";
  mig.parent_uuid = "GPU-a";
  mig.memory_used_bytes = 7;
  EXPECT_THAT(Page(Snapshot({FullSample(), mig})),
              Contains(AllOf(StartsWith("gpu_memory_used_bytes"), HasSubstr("\"MIG-1\""),
                             HasSubstr("gpu_parent_uuid=\"GPU-a\""), testing::EndsWith(" 7"))));
}

TEST_F(MetricsTest, NoGpuSeriesBeforeTheFirstSnapshot) {
  const std::vector<std::string> page = Page();
  EXPECT_THAT(page, Not(Contains(StartsWith("gpu_"))));
  EXPECT_THAT(page, Not(Contains(StartsWith("snapshot_"))));
  EXPECT_THAT(page, Contains("collections_total 0"));
}

TEST_F(MetricsTest, AgeOfTheSnapshotGrowsWhileNoneFollows) {
  const NodeSnapshot snapshot = Snapshot({});
  EXPECT_THAT(Page(snapshot), Contains("snapshot_age_seconds 0"));
  clock_.Advance(absl::Milliseconds(12'500));
  EXPECT_THAT(Page(snapshot), Contains("snapshot_age_seconds 12.5"));
}

TEST_F(MetricsTest, StaleSnapshotHasAnAgeAndNoGpus) {
  const NodeSnapshot snapshot = Snapshot({FullSample()});
  clock_.Advance(kStaleAfter);
  EXPECT_THAT(Page(snapshot), Contains(StartsWith("gpu_utilization_percent")));
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(Page(snapshot), Not(Contains(StartsWith("gpu_"))));
  EXPECT_THAT(Page(snapshot), Contains("snapshot_age_seconds 6.001"));
}

TEST_F(MetricsTest, StaleAfterIsExported) {
  EXPECT_THAT(Page(Snapshot({})), Contains("snapshot_stale_after_seconds 6"));
}

TEST_F(MetricsTest, EveryMethodStartsAtZero) {
  const std::vector<std::string> page = Page();
  for (const char* method : {"IsActive", "StreamIsActive", "GetMetricSpec", "GetMetrics",
                             "StreamMetricSpec", "Explain"}) {
    EXPECT_THAT(page, Contains(absl::StrCat("scaler_requests_total{method=\"", method, "\"} 0")));
    EXPECT_THAT(page, Contains(absl::StrCat("scaler_request_errors_total{code=\"UNAVAILABLE\",",
                                            "method=\"", method, "\"} 0")));
  }
  EXPECT_THAT(page, Contains("scaler_streams_open{method=\"StreamIsActive\"} 0"));
}

TEST_F(MetricsTest, CountsAnswersErrorsAndTheirTime) {
  metrics_.Answered(Rpc::kGetMetrics, absl::StatusCode::kOk, absl::Microseconds(60));
  metrics_.Answered(Rpc::kGetMetrics, absl::StatusCode::kUnavailable, absl::Seconds(1.5));
  metrics_.Answered(Rpc::kGetMetrics, absl::StatusCode::kDataLoss, absl::Seconds(3));
  metrics_.Answered(Rpc::kGetMetrics, absl::StatusCode::kDataLoss, absl::Seconds(3));
  const std::vector<std::string> page = Page();
  const std::string duration = "scaler_request_duration_seconds_bucket{method=\"GetMetrics\",";
  for (const std::string& line :
       {std::string("scaler_requests_total{method=\"GetMetrics\"} 4"),
        std::string("scaler_request_errors_total{code=\"UNAVAILABLE\",method=\"GetMetrics\"} 1"),
        std::string("scaler_request_errors_total{code=\"DATA_LOSS\",method=\"GetMetrics\"} 2"),
        absl::StrCat(duration, "le=\"5e-05\"} 0"), absl::StrCat(duration, "le=\"0.0001\"} 1"),
        absl::StrCat(duration, "le=\"2\"} 2"), absl::StrCat(duration, "le=\"+Inf\"} 4")}) {
    EXPECT_THAT(page, Contains(line));
  }
}

TEST_F(MetricsTest, StreamsAreAGaugeAndHaveNoDuration) {
  metrics_.StreamsOpen(Rpc::kStreamIsActive, 3);
  metrics_.Answered(Rpc::kStreamIsActive, absl::StatusCode::kOk, absl::Minutes(5));
  const std::vector<std::string> page = Page();
  EXPECT_THAT(page, Contains("scaler_streams_open{method=\"StreamIsActive\"} 3"));
  EXPECT_THAT(page, Contains("scaler_requests_total{method=\"StreamIsActive\"} 1"));
  EXPECT_THAT(
      page,
      Not(Contains(AllOf(StartsWith("scaler_request_duration_seconds"), HasSubstr("Stream")))));
}

TEST_F(MetricsTest, CountsReadingsAndFailedReadings) {
  metrics_.Collected(absl::OkStatus(), absl::Milliseconds(2));
  metrics_.Collected(absl::UnavailableError("no driver"), absl::Milliseconds(20));
  const std::vector<std::string> page = Page();
  EXPECT_THAT(page, Contains("collections_total 2"));
  EXPECT_THAT(page, Contains("collection_errors_total 1"));
  EXPECT_THAT(page, Contains("collection_duration_seconds_bucket{le=\"0.0025\"} 1"));
  EXPECT_THAT(page, Contains("collection_duration_seconds_count 2"));
}

TEST_F(MetricsTest, ReloadFailureIsRaisedAndGoesAway) {
  EXPECT_THAT(Page(), Contains("reload_failed{what=\"profiles\"} 0"));
  metrics_.SetReloadFailed(ReloadTarget::kProfiles, true);
  EXPECT_THAT(Page(), Contains("reload_failed{what=\"profiles\"} 1"));
  metrics_.SetReloadFailed(ReloadTarget::kProfiles, false);
  EXPECT_THAT(Page(), Contains("reload_failed{what=\"profiles\"} 0"));
}

TEST_F(MetricsTest, CountsFromManyThreadsWhileThePageIsRead) {
  constexpr int kThreads = 4, kEach = 1'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int n = 0; n < kEach; ++n) {
        metrics_.Answered(Rpc::kIsActive, absl::StatusCode::kDataLoss, absl::Microseconds(1));
      }
    });
  }
  Page();
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(Page(), Contains("scaler_requests_total{method=\"IsActive\"} 4000"));
  EXPECT_THAT(Page(), Contains("scaler_request_errors_total{code=\"DATA_LOSS\",method="
                               "\"IsActive\"} 4000"));
}

// shop/web-0 holds GPU-a and shares GPU-b with shop/web-1. GPU-c is free.
NodeSnapshot HeldSnapshot(const Clock& clock) {
  NodeSnapshot snapshot = {.taken_at = clock.Now()};
  for (const char* const uuid : {"GPU-a", "GPU-b", "GPU-c"}) {
    snapshot.gpus.push_back({.uuid = uuid, .utilization_percent = 50});
  }
  snapshot.attribution.state = Attribution::State::kKnown;
  snapshot.pods = {{.namespace_name = "shop", .name = "web-0"},
                   {.namespace_name = "shop", .name = "web-1"}};
  snapshot.gpus[0].holders = {{.pod = 0, .container = "vllm"}};
  snapshot.gpus[1].holders = {{.pod = 0, .container = "vllm", .share = 0.75},
                              {.pod = 1, .container = "vllm", .share = 0.25}};
  return snapshot;
}

TEST_F(MetricsTest, GpuHasTheLabelsOfTheOnePodThatHoldsIt) {
  const std::vector<std::string> page = Page(HeldSnapshot(clock_));
  const auto series = [](const char* name, const char* labels) {
    return Contains(AllOf(StartsWith(name), HasSubstr(labels)));
  };
  EXPECT_THAT(page, series("gpu_utilization_percent",
                           R"(gpu_uuid="GPU-a",gpu_name="",gpu_parent_uuid="",namespace="shop",)"
                           R"(pod="web-0",container="vllm"} 50)"));
  EXPECT_THAT(page, series("gpu_utilization_percent",
                           R"(gpu_uuid="GPU-b",gpu_name="",gpu_parent_uuid=""} 50)"));
  EXPECT_THAT(page, series("gpu_utilization_percent",
                           R"(gpu_uuid="GPU-c",gpu_name="",gpu_parent_uuid=""} 50)"));
}

TEST_F(MetricsTest, SharesOfAGpuAreExportedForEachHolder) {
  const std::vector<std::string> page = Page(HeldSnapshot(clock_));
  const auto share = [](const char* labels) {
    return Contains(AllOf(StartsWith("gpu_holder_share"), HasSubstr(labels)));
  };
  EXPECT_THAT(page, share(R"(namespace="shop",pod="web-0",container="vllm"} 1)"));
  EXPECT_THAT(page, share(R"(namespace="shop",pod="web-0",container="vllm"} 0.75)"));
  EXPECT_THAT(page, share(R"(namespace="shop",pod="web-1",container="vllm"} 0.25)"));
}

TEST_F(MetricsTest, PossibleHolderIsNoLabelAndHasNoShare) {
  NodeSnapshot snapshot = HeldSnapshot(clock_);
  snapshot.gpus[0].holders[0].is_possible = true;
  for (GpuHolder& holder : snapshot.gpus[1].holders) holder.is_possible = true;
  const std::vector<std::string> page = Page(snapshot);
  EXPECT_THAT(page, Contains(HasSubstr(R"(gpu_uuid="GPU-a",gpu_name="",gpu_parent_uuid=""} 50)")));
  EXPECT_THAT(page, Not(Contains(HasSubstr(R"(pod="web-)"))));
  EXPECT_THAT(page, Contains("attribution_known 1"));
}

TEST_F(MetricsTest, PossibleHolderDoesNotReplaceTheLabelsOfTheHolder) {
  NodeSnapshot snapshot = HeldSnapshot(clock_);
  snapshot.gpus[0].holders.push_back({.pod = 1, .share = 0, .is_possible = true});
  EXPECT_THAT(Page(snapshot),
              Contains(HasSubstr(R"(gpu_uuid="GPU-a",gpu_name="",gpu_parent_uuid="",)"
                                 R"(namespace="shop",pod="web-0",container="vllm"} 50)")));
}

TEST_F(MetricsTest, UnknownHoldersAreExported) {
  NodeSnapshot snapshot = HeldSnapshot(clock_);
  EXPECT_THAT(Page(snapshot), Contains("attribution_known 1"));
  snapshot.attribution.state = Attribution::State::kUnknown;
  EXPECT_THAT(Page(snapshot), Contains("attribution_known 0"));
  snapshot.attribution.state = Attribution::State::kNone;
  EXPECT_THAT(Page(snapshot), Not(Contains(StartsWith("attribution_known"))));
}

TEST_F(MetricsTest, FreeGpusAreExportedByNodeAndLinkGroup) {
  NodeSnapshot snapshot{.taken_at = clock_.Now(), .node = "gpu-7"};
  for (int i = 0; i < 6; ++i) {
    snapshot.gpus.push_back({.uuid = absl::StrCat("GPU-", i), .index = i});
    snapshot.gpus.back().link_group = i < 3 ? "nvlink-0" : "";
    snapshot.gpus.back().is_free = i != 0 && i < 4;
  }
  snapshot.gpus[5].is_free.reset();
  const std::vector<std::string> page = Page(snapshot);
  EXPECT_THAT(page, Contains(R"(free_gpus{node="gpu-7",group="nvlink-0"} 2)"));
  EXPECT_THAT(page, Contains(R"(free_gpus{node="gpu-7",group=""} 1)"));
  EXPECT_THAT(page, Contains(R"(largest_free_group_gpus{node="gpu-7"} 2)"));
}

TEST_F(MetricsTest, UnknownFreeGpusHaveNoSeries) {
  const NodeSnapshot snapshot{.taken_at = clock_.Now(), .gpus = {{.uuid = "GPU-a"}}};
  EXPECT_THAT(Page(snapshot), Not(Contains(HasSubstr("free_g"))));
}

TEST(GpuFamilies, HelpIsThereAndFamiliesWithoutASeriesAreNot) {
  EXPECT_THAT(GpuFamilies({}), IsEmpty());
  for (const prometheus::MetricFamily& family : GpuFamilies({.gpus = {FullSample()}})) {
    EXPECT_FALSE(family.help.empty()) << family.name;
    EXPECT_FALSE(family.metric.empty()) << family.name;
  }
}

// promtool is Prometheus' own check of names, types and help. It prints findings on standard error.
TEST_F(MetricsTest, PromtoolFindsNoFault) {
  GpuSample failed{.uuid = "GPU-\"b\\\n", .name = "", .index = 1};
  failed.gaps = {{GpuField::kMemory, GpuGap::Reason::kFailed, ""}};
  metrics_.Answered(Rpc::kGetMetrics, absl::StatusCode::kDataLoss, absl::Seconds(1));
  const NodeSnapshot snapshot = Snapshot({FullSample(), failed});
  std::FILE* const promtool = popen("promtool check metrics", "w");
  ASSERT_NE(promtool, nullptr);
  const std::string page = metrics_.Page(&snapshot, clock_.Now(), kStaleAfter);
  EXPECT_EQ(std::fwrite(page.data(), 1, page.size(), promtool), page.size());
  EXPECT_EQ(pclose(promtool), 0) << "Debian's package prometheus has promtool\n" << page;
}

}  // namespace
}  // namespace gpuscaler
