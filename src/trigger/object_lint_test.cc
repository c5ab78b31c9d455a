// Rules on the fields of a ScaledObject beside its triggers, and on what wakes it.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/test_linted_manifest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ObjectLint, ObjectRulesFireOnTheLineOfTheirField) {
  struct Row {
    const char* spec;  // from line 5 on
    bool cron;
    std::vector<std::string> want;
  };
  for (const Row& row : std::vector<Row>{
           {"minReplicaCount: 0", false, {"5 nothing-wakes"}},
           {"", false, {"1 nothing-wakes"}},
           {"minReplicaCount: 2\nidleReplicaCount: 0", false, {"6 nothing-wakes"}},
           {"minReplicaCount: 1", false, {}},
           {"minReplicaCount: 0\ncooldownPeriod: 119", true, {"6 cooldown-short"}},
           {"minReplicaCount: 0\ncooldownPeriod: 120", true, {}},
           {"minReplicaCount: 1\ncooldownPeriod: 10", true, {}},
           {"minReplicaCount: 0\npollingInterval: 600", true, {"6 cooldown-short"}},
           {"minReplicaCount: 0\nfallback:\n  replicas: 3", true, {"7 fallback-wakes"}},
           {"minReplicaCount: 1\nfallback:\n  replicas: 3", true, {"7 fallback-shrinks"}},
           {"minReplicaCount: 1\nfallback:\n  replicas: 3\n  behavior: static",
            true,
            {"8 fallback-shrinks"}},
           {"minReplicaCount: 1\nfallback:\n  replicas: 3\n  behavior: currentReplicasIfLower",
            true,
            {"8 fallback-shrinks"}},
           {"minReplicaCount: 1\nfallback:\n  replicas: 3\n  behavior: currentReplicasIfHigher",
            true,
            {}},
           {"minReplicaCount: 1\nmaxReplicaCount: 8\nfallback: {replicas: 8}", true, {}},
       }) {
    EXPECT_EQ(RulesIn(WithSpec(row.spec) + (row.cron ? kCron : "")), row.want) << row.spec;
  }
}

TEST(ObjectLint, AMetricThatIsNeverZeroNeedsAThresholdToGoToZero) {
  const auto with_trigger = [](const char* spec, const char* metadata) {
    return absl::StrCat(WithSpec(spec), kCron, "  - type: external\n    metadata:\n",
                        "      scalerAddress: gpu-scaler:6000\n      targetValue: '50'\n      ",
                        metadata, "\n");
  };
  for (const char* metric : {"power_draw", "temperature", "memory_used_mib"}) {
    const std::string metadata = absl::StrCat("metricType: ", metric);
    EXPECT_THAT(RulesIn(with_trigger("minReplicaCount: 0", metadata.c_str())),
                ElementsAre("15 never-sleeps"))
        << metric;
    EXPECT_THAT(RulesIn(with_trigger("minReplicaCount: 1", metadata.c_str())), IsEmpty());
    EXPECT_THAT(RulesIn(with_trigger("minReplicaCount: 0",
                                     (metadata + "\n      activationThreshold: '40'").c_str())),
                IsEmpty());
  }
  for (const char* metric : {"gpu_utilization", "pcie_tx_kbps", "nvlink_rx_mbps"}) {
    const std::string metadata = absl::StrCat("metricType: ", metric);
    EXPECT_THAT(RulesIn(with_trigger("minReplicaCount: 0", metadata.c_str())), IsEmpty()) << metric;
  }
}

TEST(ObjectLint, OnlyTriggersThatAreActiveAtZeroWake) {
  const std::string yaml = WithSpec("minReplicaCount: 0");
  EXPECT_THAT(RulesIn(yaml + "  - {type: cpu, metadata: {value: '50'}}\n"),
              ElementsAre("5 nothing-wakes"));
  EXPECT_THAT(RulesIn(yaml + "  - {type: prometheus, metadata: {query: up}}\n"), IsEmpty());
  EXPECT_THAT(RulesIn(yaml + "  - {type: external, metadata: {scalerAddress: 'other:9'}}\n"),
              ElementsAre("9 not-checked"));
  EXPECT_THAT(RulesIn(yaml + "  - type: external\n    metadata: {scalerAddress: 'gpu-scaler:1', "
                             "scaleIn: hold}\n"),
              IsEmpty());
  EXPECT_THAT(RulesIn(yaml + "  - type: external\n    metadata: {scalerAddress: 'gpu-scaler:1', "
                             "scope: node}\n"),
              IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
