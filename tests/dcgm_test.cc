// `--gpu-source dcgm:URL` as a process with an exporter: the output of `gpus` and KEDA's values.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gpu/test_dcgm_exposition.h"
#include "gpu/test_exporter.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "process.h"

namespace gpuscaler {
namespace {

using nlohmann::json;
using testing::ContainsRegex;
using testing::HasSubstr;

constexpr char kWeb[] = "web-6d4cf56db6-x7k2p";

// A GPU of web's and a free one; measured again at each request.
std::string PageOf(int utilization, int energy) {
  return DcgmExpositionOf(
      {{DcgmLabels(0, kTestUuid0) + PodLabels(kWeb), utilization, 50'000, energy},
       {DcgmLabels(1, kTestUuid1), 0, 0, energy}});
}

class DcgmTest : public testing::Test {
 protected:
  DcgmTest() { Measure(80); }

  void Measure(int utilization) {
    exporter_.ShowEach([utilization](int request) { return PageOf(utilization, request); });
  }

  // As on a node without a kubelet.
  std::vector<std::string> Source() const {
    return {absl::StrCat("--gpu-source=dcgm:", exporter_.Url()),
            "--pod-resources-socket=/nonexistent/kubelet.sock"};
  }
  std::vector<std::string> Flags() const {
    std::vector<std::string> flags = Source();
    flags.insert(flags.end(), {"--poll-interval=1s", "--stale-after=3s"});
    return flags;
  }

  static std::string ValueOf(const Server& server) {
    const Finished query = RunProgram({"query", server.Address(), "--namespace=shop", "--explain",
                                       "metricType=gpu_utilization", "window=0s", "workload=web"});
    return query.out + query.err;
  }
  // Waits for an answer that contains all of these words.
  static bool AnswerHas(const Server& server, const std::vector<std::string>& words) {
    return Eventually([&] {
      const std::string answer = ValueOf(server);
      return std::ranges::all_of(words,
                                 [&](const auto& word) { return absl::StrContains(answer, word); });
    });
  }

  TestExporter exporter_;
};

TEST_F(DcgmTest, GpusShowsThePageWithItsPods) {
  std::vector<std::string> args = Source();
  args.insert(args.begin(), {"gpus", "--format=json"});
  const Finished gpus = RunProgram(args);
  ASSERT_EQ(gpus.code, 0) << gpus.err;
  const json page = json::parse(gpus.out);
  EXPECT_EQ(page["gpus"][0]["uuid"], kTestUuid0);
  EXPECT_EQ(page["gpus"][0]["utilization_percent"], 80);
  const json& holder = page["gpus"][0]["holders"][0];
  EXPECT_EQ(holder["namespace"], "shop");
  EXPECT_EQ(holder["pod"], kWeb);
  EXPECT_EQ(holder["owners"][0], "Deployment/web");
  EXPECT_EQ(page["gpus"][1]["holders"], json::array());
}

TEST_F(DcgmTest, KedaGetsTheLoadOfTheWorkloadFromPodLabels) {
  const Server server(Flags());
  ASSERT_TRUE(server.Ready()) << server.process().Diagnostics();
  EXPECT_THAT(server.process().Err(), ContainsRegex("event=serving .*attribution=page"));
  EXPECT_TRUE(AnswerHas(server, {"value   80\n"}))
      << ValueOf(server) << server.process().Diagnostics();
  Measure(40);
  EXPECT_TRUE(AnswerHas(server, {"value   40\n"}))
      << ValueOf(server) << server.process().Diagnostics();
}

// While the exporter is away KEDA gets UNAVAILABLE; afterwards the new value.
TEST_F(DcgmTest, ARestartingExporterIsUnavailableNotZero) {
  const Server server(Flags());
  ASSERT_TRUE(server.Ready());
  ASSERT_TRUE(AnswerHas(server, {"value   80\n"})) << ValueOf(server);
  exporter_.Stop();
  EXPECT_TRUE(AnswerHas(server, {"UNAVAILABLE", "Connection refused"})) << ValueOf(server);
  exporter_.Start();
  exporter_.ShowEach([](int) { return std::string(); });  // before its first collection
  EXPECT_TRUE(AnswerHas(server, {"its page shows no GPU"})) << ValueOf(server);
  Measure(60);
  EXPECT_TRUE(AnswerHas(server, {"value   60\n"})) << ValueOf(server);
}

TEST_F(DcgmTest, AFaultyExporterIsUnavailableUntilItRecovers) {
  Server server(Flags());
  ASSERT_TRUE(server.Ready());
  ASSERT_TRUE(AnswerHas(server, {"value   80\n"})) << ValueOf(server);
  const struct {
    std::string answer;  // empty: none
    const char* want;
  } rows[] = {
      {"", "no answer within 2s"},
      {Answer(std::string(10 << 20, 'x')), "larger than"},
      {Answer("\x7f\x45\x4c\x46 garbage"), "line 1"},
      {EmptyAnswer(302, "Location: http://169.254.169.254/latest\r\n"),
       "redirects are not followed"},
  };
  for (const auto& row : rows) {
    exporter_.AnswerAll(row.answer);
    EXPECT_TRUE(AnswerHas(server, {"UNAVAILABLE", row.want})) << row.want << ValueOf(server);
    Measure(80);
    EXPECT_TRUE(AnswerHas(server, {"value   80\n"})) << row.want << ValueOf(server);
  }
  server.process().Signal(SIGTERM);
  EXPECT_EQ(server.process().Wait(), 0) << server.process().Diagnostics();
}

TEST_F(DcgmTest, AnUnchangedPageBecomesStale) {
  const Server server(Flags());
  ASSERT_TRUE(server.Ready());
  ASSERT_TRUE(AnswerHas(server, {"value   80\n"})) << ValueOf(server);
  exporter_.ShowEach([](int) { return PageOf(80, 7); });
  EXPECT_TRUE(AnswerHas(server, {"its source shows nothing newer"})) << ValueOf(server);
}

TEST_F(DcgmTest, BusyGpusWithoutPodsAreAnError) {
  exporter_.ShowEach([](int request) {
    return DcgmExpositionOf({{DcgmLabels(0, kTestUuid0), 90, 50'000, request}});
  });
  const Server server(Flags());
  ASSERT_TRUE(server.Ready());
  EXPECT_TRUE(server.process().WaitForErr("event=attribution_unknown")) << server.process().Err();
  EXPECT_TRUE(AnswerHas(server, {"names no pod, though GPUs are in use"})) << ValueOf(server);
  std::vector<std::string> flags = Flags();
  flags.emplace_back("--attribution=none");
  const Server counting(flags);
  ASSERT_TRUE(counting.Ready());
  EXPECT_TRUE(Eventually([&] {
    const Finished query = RunProgram({"query", counting.Address(), "metricType=gpu_utilization",
                                       "window=0s", "scope=node", "--explain"});
    return absl::StrContains(query.out, "value   90\n");
  }));
}

}  // namespace
}  // namespace gpuscaler
