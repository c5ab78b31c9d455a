#include "gpu/exporter_source.h"

#include "base/fake_clock.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gpu/dcgm_schema.h"
#include "gpu/test_dcgm_exposition.h"
#include "gpu/test_exporter.h"
#include "gtest/gtest.h"
#include "page/test_http_server.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

std::string UrlAt(int port, const char* scheme = "http") {
  return absl::StrCat(scheme, "://127.0.0.1:", port);
}

class DcgmSourceTest : public testing::Test {
 protected:
  // The default of `after` is long enough after the last reading.
  absl::StatusOr<NodeSnapshot> Read(absl::Duration after = absl::Seconds(2)) {
    clock_.Advance(after);
    return source_.Read({});
  }
  NodeSnapshot Good(absl::Duration after = absl::Seconds(2)) {
    auto snapshot = Read(after);
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? *std::move(snapshot) : NodeSnapshot();
  }
  std::string Fault(absl::Duration after = absl::Seconds(2)) {
    const absl::Status status = Read(after).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    return std::string(status.message());
  }

  // The second GPU has a pod.
  static std::string Two(int energy, int utilization = 50) {
    return DcgmExpositionOf(
        {{DcgmLabels(0, kTestUuid0), 0, 100, energy},
         {DcgmLabels(1, kTestUuid1) + PodLabels("web-0"), utilization, 90'000, energy}});
  }

  FakeClock clock_;
  TestExporter exporter_;
  ExporterSource source_{
      DcgmSchema(), ParseExporterUrl(exporter_.Url(), 9400).value(), {}, true, "gpu-7", clock_};
};

TEST_F(DcgmSourceTest, SnapshotHasThePodsOfThePage) {
  exporter_.Show(Two(1));
  const NodeSnapshot snapshot = Good();
  EXPECT_THAT(exporter_.head(), testing::StartsWith("GET /metrics HTTP/1.1\r\n"));
  EXPECT_EQ(snapshot.taken_at, clock_.Now());
  EXPECT_EQ(snapshot.node, "gpu-7");
  EXPECT_EQ(snapshot.source, absl::StrCat("dcgm:", exporter_.Url(), "/metrics"));
  EXPECT_EQ(snapshot.driver_version, "570.124.06");
  ASSERT_EQ(snapshot.gpus.size(), 2);
  EXPECT_EQ(snapshot.gpus[1].utilization_percent, 50);
  EXPECT_TRUE(snapshot.gpus[0].holders.empty());
  ASSERT_EQ(snapshot.pods.size(), 1);
  EXPECT_EQ(snapshot.pods[0].namespace_name, "shop");
  EXPECT_EQ(snapshot.pods[0].name, "web-0");
  EXPECT_THAT(snapshot.gpus[1].holders,
              testing::ElementsAre(GpuHolder{.pod = 0, .container = "main", .share = 1}));
}

TEST_F(DcgmSourceTest, ReadingHasTheTimeOfItsCollection) {
  exporter_.Show(Two(1, 50));
  const absl::Time collected = Good().taken_at;
  for (int i = 0; i < 14; ++i) EXPECT_EQ(Good().taken_at, collected);
  exporter_.Show(Two(2, 60));
  const NodeSnapshot next = Good();
  EXPECT_EQ(next.taken_at, clock_.Now());
  EXPECT_EQ(next.gpus[1].utilization_percent, 60);
}

// The page has the activity anyway, so a lease would only delay the first value by a collection.
TEST_F(DcgmSourceTest, ActivityIsReadWithoutALeaseAndIsAGapWhileItIsMissing) {
  const auto page = [](int energy, const char* dram) {
    return DcgmExpositionOf({{.labels = DcgmLabels(0, kTestUuid0), .energy_mj = energy}}) +
           DcgmLine("DCGM_FI_PROF_DRAM_ACTIVE", DcgmLabels(0, kTestUuid0), dram);
  };
  exporter_.Show(page(1, "0.5"));
  const NodeSnapshot first = Good();
  EXPECT_EQ(first.gpus[0].dram_activity_percent, 50);
  EXPECT_EQ(first.gpus[0].sm_activity_percent, std::nullopt);
  EXPECT_TRUE(first.gpus[0].gaps.empty()) << "the exporter does not export SM activity";
  exporter_.Show(page(2, "140737488355330.000000"));  // DCGM's "not supported"
  const GpuSample blank = Good().gpus[0];
  EXPECT_EQ(blank.dram_activity_percent, std::nullopt);
  EXPECT_NE(FindGap(blank, GpuField::kDramActivity), nullptr);
}

TEST_F(DcgmSourceTest, ExporterWithoutCollectionsIsUnavailable) {
  exporter_.Show(Two(1));
  Good();
  EXPECT_TRUE(Read(absl::Seconds(75)).ok());
  EXPECT_THAT(Fault(), HasSubstr("have not changed for more than 1m15s: it no longer collects"));
  exporter_.Show(Two(2));
  const absl::Time collected = Good().taken_at;
  EXPECT_EQ(collected, clock_.Now());
}

TEST_F(DcgmSourceTest, ExporterIsQueriedOnceASecondAtMost) {
  exporter_.Show(Two(1, 50));
  Good();
  exporter_.Show(Two(2, 60));
  EXPECT_EQ(Good(absl::Milliseconds(900)).gpus[1].utilization_percent, 50);
  EXPECT_EQ(Good(absl::Milliseconds(100)).gpus[1].utilization_percent, 60);
}

TEST_F(DcgmSourceTest, EmptyPageOfAStartingExporterIsUnavailable) {
  exporter_.Show("");
  EXPECT_THAT(Fault(), HasSubstr("its page shows no GPU"));
  exporter_.Show(Two(1));
  EXPECT_EQ(Good().gpus.size(), 2);
}

TEST_F(DcgmSourceTest, MissingGpuIsUnreadableAndKeepsItsPod) {
  exporter_.Show(Two(1));
  Good();
  exporter_.Show(DcgmExpositionOf({{.labels = DcgmLabels(0, kTestUuid0), .energy_mj = 2}}));
  const NodeSnapshot snapshot = Good();
  ASSERT_EQ(snapshot.gpus.size(), 2);
  const GpuSample& lost = snapshot.gpus[1];
  EXPECT_EQ(lost.uuid, kTestUuid1);
  EXPECT_EQ(lost.utilization_percent, std::nullopt);
  ASSERT_NE(FindGap(lost, GpuField::kUtilization), nullptr);
  EXPECT_EQ(FindGap(lost, GpuField::kUtilization)->detail, "not on the page of dcgm-exporter");
  EXPECT_EQ(FindGap(lost, GpuField::kPower), nullptr);
  ASSERT_EQ(lost.holders.size(), 1);
  EXPECT_EQ(snapshot.pods[lost.holders[0].pod].name, "web-0");

  exporter_.Show(DcgmExpositionOf({{.labels = DcgmLabels(0, kTestUuid0), .energy_mj = 3}}));
  EXPECT_EQ(Good(absl::Minutes(5)).gpus.size(), 1);
}

TEST_F(DcgmSourceTest, MissingValueIsAGapAndNotZero) {
  exporter_.Show(Two(1));
  Good();
  std::string page;
  for (const absl::string_view line : {"DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE"}) {
    page += DcgmLine(line, DcgmLabels(0, kTestUuid0), "5");
  }
  page += DcgmLine("DCGM_FI_DEV_GPU_UTIL", DcgmLabels(0, kTestUuid0), "9223372036854775794");
  page += DcgmLine("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", DcgmLabels(0, kTestUuid0), "9");
  exporter_.Show(page);
  const NodeSnapshot snapshot = Good();
  EXPECT_EQ(snapshot.gpus[0].utilization_percent, std::nullopt);
  EXPECT_NE(FindGap(snapshot.gpus[0], GpuField::kUtilization), nullptr);
  EXPECT_EQ(snapshot.gpus[0].memory_used_bytes, 5 << 20);
  exporter_.Show(Two(10));
  EXPECT_EQ(Good().gpus[0].utilization_percent, 0);
}

TEST_F(DcgmSourceTest, GpuWithRepeatedValuesIsUnreadable) {
  for (int i = 1; i <= 4; ++i) {
    exporter_.Show(
        DcgmExpositionOf({{DcgmLabels(0, kTestUuid0), 0, 100, i},
                          {DcgmLabels(1, kTestUuid1) + PodLabels("web-0"), 99, 100, 7}}));
    const NodeSnapshot snapshot = Good();
    ASSERT_EQ(snapshot.gpus.size(), 2);
    EXPECT_EQ(snapshot.gpus[1].utilization_percent.has_value(), i < 4) << i;
    EXPECT_EQ(snapshot.gpus[1].holders.size(), 1) << i;
  }
}

TEST_F(DcgmSourceTest, InstancesFollowTheirGpuAndChangeWithIt) {
  const auto instances = [](const std::vector<int>& numbers, int energy) {
    std::vector<TestDcgmGpu> gpus;
    for (const int number : numbers) {
      gpus.push_back({.labels = InstanceLabels(0, kTestUuid0, number), .energy_mj = energy});
    }
    return DcgmExpositionOf(gpus);
  };
  exporter_.Show(instances({7, 8}, 1));
  const NodeSnapshot divided = Good();
  ASSERT_EQ(divided.gpus.size(), 3);
  EXPECT_EQ(divided.gpus[0].uuid, kTestUuid0);
  EXPECT_EQ(divided.gpus[1].gpu_instance, 7);
  EXPECT_EQ(divided.gpus[2].parent_uuid, kTestUuid0);

  exporter_.Show(instances({7}, 2));
  EXPECT_EQ(Good().gpus.size(), 3);  // one is missing, and unreadable
  exporter_.Show(DcgmExpositionOf({{.labels = DcgmLabels(0, kTestUuid0), .energy_mj = 3}}));
  const NodeSnapshot whole = Good();
  ASSERT_EQ(whole.gpus.size(), 1);
  EXPECT_FALSE(IsMig(whole.gpus[0]));
}

TEST_F(DcgmSourceTest, SharedGpuIsDividedByUtilization) {
  const std::string labels = DcgmLabels(0, kTestUuid0);
  const auto page = [&](const char* of_gpu, const char* web, const char* job) {
    return (*of_gpu == '\0' ? "" : DcgmLine("DCGM_FI_DEV_GPU_UTIL", labels, of_gpu)) +
           DcgmLine("DCGM_FI_DEV_GPU_UTIL", labels + PodLabels("web-0"), web) +
           DcgmLine("DCGM_FI_DEV_GPU_UTIL", labels + PodLabels("web-0", "proxy"), web) +
           DcgmLine("DCGM_FI_DEV_GPU_UTIL", labels + PodLabels("job-1"), job);
  };
  const struct {
    const char* of_gpu;
    const char* web;
    const char* job;
    double want_web, want_job;
  } rows[] = {
      {"80", "60", "20", 0.375, 0.25},  // web-0's two containers have 3/8 each
      {"80", "0", "0", 0.25, 0.5},
      {"", "80", "80", 0.25, 0.5},
  };
  for (const auto& row : rows) {
    exporter_.Show(page(row.of_gpu, row.web, row.job));
    const NodeSnapshot snapshot = Good();
    ASSERT_EQ(snapshot.gpus.size(), 1);
    EXPECT_EQ(snapshot.gpus[0].utilization_percent, 80);
    ASSERT_EQ(snapshot.gpus[0].holders.size(), 3);
    EXPECT_EQ(snapshot.pods.size(), 2);
    EXPECT_DOUBLE_EQ(snapshot.gpus[0].holders[0].share, row.want_web) << row.web;
    EXPECT_DOUBLE_EQ(snapshot.gpus[0].holders[1].share, row.want_web) << row.web;
    EXPECT_DOUBLE_EQ(snapshot.gpus[0].holders[2].share, row.want_job) << row.web;
  }
}

TEST_F(DcgmSourceTest, InvalidPageIsUnavailableAndTheNextOneIsRead) {
  const struct {
    std::string answer;
    const char* want;
  } rows[] = {
      {EmptyAnswer(500), "it answers HTTP 500"},
      {EmptyAnswer(401), "it answers HTTP 401"},
      {EmptyAnswer(302, "Location: http://169.254.169.254/\r\n"), "redirects are not followed"},
      {Answer("\x89PNG\r\n\x1a\n"), "line 1"},
      {Answer(std::string(10 << 20, 'x')), "larger than"},
      {Answer("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\",UUID=\"GPU-a\"} 1"), "the page is cut off"},
  };
  for (const auto& row : rows) {
    exporter_.AnswerAll(row.answer);
    const std::string fault = Fault();
    EXPECT_THAT(fault, testing::StartsWith("dcgm-exporter: ")) << row.want;
    EXPECT_THAT(fault, HasSubstr(row.want));
  }
  exporter_.Show(Two(1));
  EXPECT_EQ(Good().gpus.size(), 2);
}

TEST(DcgmSource, HangingExporterCostsTwoSeconds) {
  const FakeClock clock;
  const TestHttpServer server(SendingAndHanging(""));
  ExporterSource source(DcgmSchema(), ParseExporterUrl(UrlAt(server.port()), 9400).value(), {},
                        true, "gpu-7", clock);
  EXPECT_THAT(std::string(source.Read({}).status().message()), HasSubstr("no answer within 2s"));
}

TEST(DcgmSource, PodsAreLeftOutUnlessRequested) {
  FakeClock clock;
  TestExporter exporter;
  exporter.Show(DcgmExpositionOf({{DcgmLabels(0, kTestUuid0) + PodLabels("web-0"), 5, 5, 5}}));
  ExporterSource source(DcgmSchema(), ParseExporterUrl(exporter.Url(), 9400).value(), {}, false,
                        "gpu-7", clock);
  const auto snapshot = source.Read({});
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_TRUE(snapshot->pods.empty());
  EXPECT_TRUE(snapshot->gpus.get().at(0).holders.empty());
}

class ExporterAccessTest : public testing::Test {
 protected:
  const TestFolder folder_;
};

TEST_F(ExporterAccessTest, CredentialsAreSentByTheirFormAndReadForEachRequest) {
  const TestExporter exporter;
  const std::string path = folder_.Write("credentials", "me:secret\n");
  ExporterEndpoint endpoint(ParseExporterUrl(exporter.Url(), 9400).value(),
                            {.credentials_file = path});
  EXPECT_TRUE(endpoint.Get().ok());
  EXPECT_THAT(exporter.head(), HasSubstr("Authorization: Basic bWU6c2VjcmV0\r\n"));
  folder_.Write("credentials", "token-2\n");
  EXPECT_TRUE(endpoint.Get().ok());
  EXPECT_THAT(exporter.head(), HasSubstr("Authorization: Bearer token-2\r\n"));
}

TEST_F(ExporterAccessTest, MissingCredentialsAreAnErrorWithoutARequest) {
  const TestHttpServer server(SendingAndHanging(""));
  ExporterEndpoint endpoint(ParseExporterUrl(UrlAt(server.port()), 9400).value(),
                            {.credentials_file = "/no/such/file"});
  EXPECT_THAT(std::string(endpoint.Get().status().message()),
              HasSubstr("/no/such/file: cannot be read"));
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(ExporterAccessTest, CertificateIsCheckedWithTheNamedAuthorityOnly) {
  const TestCa ca("theirs");
  const TestCa other("another");
  const TestCertificate pair = ca.Issue("exporter");
  const TestHttpServer server(Serving([](absl::string_view) { return Answer("a 1\n"); }), &pair);
  const HttpEndpoint url = ParseExporterUrl(UrlAt(server.port(), "https"), 9400).value();
  EXPECT_TRUE(ExporterEndpoint(url, {.ca_file = folder_.Write("ca", ca.pem())}).Get().ok());
  for (const std::string& ca_file : {std::string(), folder_.Write("other", other.pem())}) {
    EXPECT_THAT(std::string(ExporterEndpoint(url, {.ca_file = ca_file}).Get().status().message()),
                HasSubstr("its certificate: "));
  }
}

}  // namespace
}  // namespace gpuscaler
