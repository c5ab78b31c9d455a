// Lint and nodes agree on the kinds of workloads with similar pod names.
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "trigger/workload_kinds.h"
#include "workload/owner_names.h"

namespace gpuscaler {
namespace {

TEST(AlikeKinds, AreTheOwnersThatAPodNameMayHave) {
  for (const char* pod : {"llm-6d4cf56db6-x7k2p", "llm-0", "llm-x7k2p"}) {
    std::set<std::string> may_be;
    for (const PodOwner& owner : OwnersByName(pod)) {
      if (owner.name == "llm") may_be.insert(owner.kind);
    }
    EXPECT_GT(may_be.size(), 1u) << pod;
    for (const std::string& kind : may_be) {
      for (const absl::string_view other : WorkloadKinds()) {
        const bool is_alike = kind != other && may_be.contains(std::string(other));
        EXPECT_EQ(HaveSamePodNames(kind, other), is_alike) << pod << " " << kind << " " << other;
      }
    }
  }
  for (const absl::string_view other : WorkloadKinds()) {
    EXPECT_FALSE(HaveSamePodNames("InferenceService", other)) << other;
    EXPECT_FALSE(HaveSamePodNames("NIMService", other)) << other;
  }
}

}  // namespace
}  // namespace gpuscaler
