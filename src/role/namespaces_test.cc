// Isolation of namespaces, and --allow-namespaces, from the kubelet to KEDA's answer.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "role/test_fleet.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;

class NamespacesTest : public TestFleet {
 protected:
  void SetUp() override {
    StartNode("gpu-a", {{"team-a", "llm-6d4cf56db6-x7k2p", 60}});
    StartNode("gpu-b", {{"team-b", "embed-7f8b9c6d54-q2w4r", 35}});
  }

  absl::StatusOr<gpuscaler::v1::Explanation> ExplainOf(const std::string& in,
                                                       const std::string& workload) const {
    return client_->Explain({.name = "scaler",
                             .namespace_name = in,
                             .metadata = {{"metricType", "gpu_utilization"},
                                          {"targetGpuUtilization", "80"},
                                          {"workload", workload},
                                          {"window", "0s"}}});
  }
  std::vector<std::string> ReplicasOf(const std::string& in, const std::string& workload,
                                      int wanted) const {
    const auto explanation = WaitFor(
        [&] { return ExplainOf(in, workload); },
        [&](const auto& got) { return got.ok() && got->code() == 0 && got->replicas() == wanted; });
    std::vector<std::string> names;
    if (!explanation.ok()) return {explanation.status().ToString()};
    for (const auto& share : explanation->shares()) names.push_back(share.name());
    return names;
  }
};

TEST_F(NamespacesTest, PodsOfOtherNamespacesAreNotVisible) {
  StartAggregator();
  EXPECT_THAT(ReplicasOf("team-a", "llm", 1), ElementsAre("llm-6d4cf56db6-x7k2p"));
  EXPECT_THAT(ReplicasOf("team-b", "embed", 1), ElementsAre("embed-7f8b9c6d54-q2w4r"));
  EXPECT_THAT(ReplicasOf("team-a", "embed", 0), ElementsAre());
}

TEST_F(NamespacesTest, AllowNamespacesWorksInOneDirection) {
  Config config = RoleConfig();
  config.allow_namespaces = "team-a:team-b";
  StartAggregator(config);
  EXPECT_THAT(ReplicasOf("team-a", "embed", 1), ElementsAre("team-b/embed-7f8b9c6d54-q2w4r"));
  EXPECT_THAT(ReplicasOf("team-a", "llm", 1), ElementsAre("llm-6d4cf56db6-x7k2p"));
  EXPECT_THAT(ReplicasOf("team-b", "llm", 0), ElementsAre()) << "not the other way round";
}

// One node with pods of two namespaces.
class NamespacePartsTest : public NamespacesTest {
 protected:
  void SetUp() override {
    StartNode("gpu-a", {{"team-a", "llm-6d4cf56db6-x7k2p", 60},
                        {"team-b", "embed-7f8b9c6d54-q2w4r", 35},
                        {"team-c", "rank-5c9d8b7f66-h4j6k", 20}});
  }
  void StartPart(const std::string& namespaces, const std::string& allow_namespaces = "") {
    Config config = RoleConfig();
    config.namespaces = namespaces;
    config.allow_namespaces = allow_namespaces;
    StartAggregator(config);
  }
  // Returns whether each GPU of the node has readings, once the node is known.
  std::vector<bool> Readings() const {
    const auto view = WaitFor([&] { return client_->View(); },
                              [](const auto& got) { return got.ok() && got->nodes_size() == 1; });
    std::vector<bool> has;
    for (const auto& gpu : view->nodes(0).newest().gpus())
      has.push_back(gpu.has_utilization_percent());
    return has;
  }
};

TEST_F(NamespacePartsTest, AnAggregatorGetsTheReadingsOfItsNamespacesAlone) {
  StartPart("team-a");
  EXPECT_THAT(ReplicasOf("team-a", "llm", 1), ElementsAre("llm-6d4cf56db6-x7k2p"));
  EXPECT_THAT(Readings(), ElementsAre(true, false, false));
  const auto refused = ExplainOf("team-b", "embed");
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kFailedPrecondition) << refused.status();
  EXPECT_THAT(std::string(refused.status().message()),
              testing::HasSubstr("namespace team-b: it has --namespaces=team-a;"));
}

TEST_F(NamespacePartsTest, NamespacesThatItsScaledObjectsMaySeeAreIncluded) {
  StartPart("team-a", "team-a:team-b,team-c:team-a");
  EXPECT_THAT(ReplicasOf("team-a", "embed", 1), ElementsAre("team-b/embed-7f8b9c6d54-q2w4r"));
  EXPECT_THAT(Readings(), ElementsAre(true, true, false));
  EXPECT_EQ(ExplainOf("team-b", "embed").status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(NamespacePartsTest, ViewAndMetricsNameTheNamespaces) {
  StartPart("team-a,team-b");
  const auto view = client_->View();
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_THAT(view->namespaces(), ElementsAre("team-a", "team-b"));
  const std::string page = FetchMetrics(aggregator_->metrics_port());
  EXPECT_THAT(page, testing::HasSubstr("served_namespace{namespace=\"team-b\"} 1"));
}

}  // namespace
}  // namespace gpuscaler
