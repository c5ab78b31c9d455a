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

}  // namespace
}  // namespace gpuscaler
