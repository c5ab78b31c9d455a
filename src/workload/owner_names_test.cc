#include "workload/owner_names.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

// Returns "Deployment/web Rollout/web", with the group behind: "LeaderWorkerSet/web@web-0".
std::string Owners(const std::string& pod) {
  return absl::StrJoin(OwnersByName(pod), " ", [](std::string* text, const PodOwner& owner) {
    absl::StrAppend(text, owner.kind, "/", owner.name, owner.group.empty() ? "" : "@", owner.group);
  });
}

TEST(OwnersByName, ReadsTheFormsOfTheControllers) {
  const std::pair<const char*, const char*> rows[] = {
      {"web-6d4cf56db6-x7k2p", "Deployment/web Rollout/web"},
      {"web-a-6d4cf56db-x7k2p", "Deployment/web-a Rollout/web-a"},
      {"web-x7k2p", "ReplicaSet/web DaemonSet/web Job/web"},
      {"train-3-x7k2p", "Job/train ReplicaSet/train-3 DaemonSet/train-3 Job/train-3"},
      {"web-0", "StatefulSet/web LeaderWorkerSet/web@web-0"},
      {"web-12", "StatefulSet/web LeaderWorkerSet/web@web-12"},
      {"train-0-1",
       "StatefulSet/train-0 LeaderWorkerSet/train-0@train-0-1 LeaderWorkerSet/train@train-0"},
      {"sets-workers-0-3-x7k2p",
       "Job/sets-workers-0 JobSet/sets ReplicaSet/sets-workers-0-3 DaemonSet/sets-workers-0-3 "
       "Job/sets-workers-0-3"},
      {"ray-head-x7k2p", "ReplicaSet/ray-head DaemonSet/ray-head Job/ray-head RayCluster/ray"},
      {"ray-head", "RayCluster/ray"},
      {"ray-gpus-worker-x7k2p",
       "ReplicaSet/ray-gpus-worker DaemonSet/ray-gpus-worker Job/ray-gpus-worker RayCluster/ray"},
      {"llm-vmz9k-head", "RayCluster/llm-vmz9k RayService/llm"},
      {"llama-predictor-6d4cf56db6-x7k2p",
       "Deployment/llama-predictor Rollout/llama-predictor InferenceService/llama"},
      {"llama-predictor-00001-deployment-6d4cf56db6-x7k2p",
       "Deployment/llama-predictor-00001-deployment Rollout/llama-predictor-00001-deployment "
       "InferenceService/llama"},
  };
  for (const auto& [pod, want] : rows) EXPECT_EQ(Owners(pod), want) << pod;
}

TEST(OwnersByName, BothPartsOfANameMayHaveDashes) {
  const std::string owners = Owners("a-b-c-0-1-x7k2p");
  EXPECT_THAT(owners, testing::HasSubstr("JobSet/a-b "));
  EXPECT_THAT(owners, testing::HasSubstr("JobSet/a "));
  const std::string ray = Owners("a-b-c-worker-x7k2p");
  EXPECT_THAT(ray, testing::HasSubstr("RayCluster/a-b"));
  EXPECT_THAT(ray, testing::EndsWith("RayCluster/a"));
}

// A short hash is no proof: a Job "api-5d" has pods of the same form as a Deployment "api".
TEST(OwnersByName, ShortHashLeavesOtherOwnersPossible) {
  EXPECT_EQ(Owners("api-5d-x7k2p"),
            "Deployment/api Rollout/api ReplicaSet/api-5d DaemonSet/api-5d Job/api-5d");
}

// 24567 may be a random suffix or an ordinal.
TEST(OwnersByName, RandomPartOfDigitsMayBeAnOrdinal) {
  EXPECT_EQ(Owners("web-24567"),
            "ReplicaSet/web DaemonSet/web Job/web StatefulSet/web LeaderWorkerSet/web@web-24567");
}

TEST(OwnersByName, ImpossibleHashIsNoHash) {
  const char* const pods[] = {
      "web-4d4cf56db6-x7k2p",   // a leading 0
      "web-9d4cf56db6-x7k2p",   // ten digits above what a uint32 holds
      "web-84cf56db6ff-x7k2p",  // eleven digits
      "web-6d4cfa6db6-x7k2p",   // an "a"
      "web--x7k2p",
  };
  for (const char* const pod : pods) {
    EXPECT_THAT(Owners(pod), testing::Not(testing::HasSubstr("Deployment"))) << pod;
  }
  // 4294967295, the largest.
  EXPECT_EQ(Owners("web-86f8fbc6f9-x7k2p"), "Deployment/web Rollout/web");
  EXPECT_THAT(Owners("web-86f8fbc6fb-x7k2p"), testing::Not(testing::HasSubstr("Deployment")));
}

TEST(OwnersByName, NamesOfUnknownFormHaveNoOwner) {
  const char* const pods[] = {
      "",           "-",          "web",
      "web-",       "-0",         "web-00",
      "web-01",     "web-x7k",    "web-x7k2a",
      "web-X7K2P",  "-x7k2p",     "--",
      "web-x7k2p-", "kube-proxy", "web-99999999999999999999",
      "web-+1",     "-head",      "etcd-node.example.com",
  };
  for (const char* const pod : pods) EXPECT_EQ(Owners(pod), "") << pod;
}

TEST(OwnersByName, CutNameHasNoOwner) {
  const std::string fits = std::string(46, 'w') + "-6d4cf56db6-x7k2p";
  ASSERT_EQ(fits.size(), 63);
  EXPECT_THAT(Owners(fits), testing::StartsWith("Deployment/www"));
  // A base of 58 without a dash at its end was cut.
  EXPECT_EQ(Owners(std::string(47, 'w') + "-6d4cf56db6x7k2p"), "");
  const std::string ray = std::string(44, 'w') + "-worker-x7k2p";
  EXPECT_THAT(Owners(ray), testing::Not(testing::HasSubstr("RayCluster")));
}

TEST(OwnersByName, NamesEachOwnerOnce) {
  for (const char* const pod : {"train-0-1", "a-0-1-x7k2p", "a-b-worker-x7k2p", "a-24567-24567"}) {
    std::set<std::string> seen;
    for (const PodOwner& owner : OwnersByName(pod)) {
      EXPECT_TRUE(seen.insert(owner.kind + owner.name + owner.group).second) << pod;
    }
  }
}

}  // namespace
}  // namespace gpuscaler
