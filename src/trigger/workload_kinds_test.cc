#include "trigger/workload_kinds.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(WorkloadKinds, ShortNamesPluralsAndGroupsAreNoKinds) {
  struct Row {
    const char* word;
    const char* want;
  };
  for (const Row& row : std::vector<Row>{
           {"deploy", "Deployment"},
           {"Deploy", "Deployment"},
           {"deployments", "Deployment"},
           {"deployment.apps", "Deployment"},
           {"deployments.apps", "Deployment"},
           {"sts", "StatefulSet"},
           {"ds", "DaemonSet"},
           {"rs", "ReplicaSet"},
           {"jobs", "Job"},
           {"jobsets", "JobSet"},
           {"lws", "LeaderWorkerSet"},
           {"LeaderWorkerSets", "LeaderWorkerSet"},
           {"ro", "Rollout"},
           {"isvc", "InferenceService"},
           {"rayclusters", "RayCluster"},
           {"rayservice.ray.io", "RayService"},
           {"po", "Pod"},
           {"pods", "Pod"},
           {"Deployment", ""},
           {"deployment", ""},
           {"pod", ""},
           {"Notebook", ""},
           {"s", ""},
           {"", ""},
       }) {
    EXPECT_EQ(KindForWord(row.word), row.want) << row.word;
  }
}

TEST(WorkloadKinds, KindIsKnownInAnyCase) {
  for (const absl::string_view kind : WorkloadKinds()) {
    EXPECT_TRUE(IsWorkloadKind(kind)) << kind;
    EXPECT_EQ(KindForWord(kind), "") << kind;
  }
  EXPECT_TRUE(IsWorkloadKind("leaderworkerset"));
  EXPECT_FALSE(IsWorkloadKind("lws"));
  EXPECT_FALSE(IsWorkloadKind("Notebook"));
}

}  // namespace
}  // namespace gpuscaler
