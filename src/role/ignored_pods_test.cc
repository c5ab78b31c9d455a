#include "role/ignored_pods.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ParseIgnoredPods, ListsNamespacesAndPrefixes) {
  const auto ignored = ParseIgnoredPods("monitoring, gpu-operator/nvidia-dcgm");
  ASSERT_TRUE(ignored.ok()) << ignored.status();
  EXPECT_THAT(*ignored, ElementsAre(IgnoredPods{"monitoring", ""},
                                    IgnoredPods{"gpu-operator", "nvidia-dcgm"}));
  EXPECT_TRUE(IsIgnored(*ignored, "monitoring", "web-0"));
  EXPECT_TRUE(IsIgnored(*ignored, "gpu-operator", "nvidia-dcgm-exporter-x7k2p"));
  EXPECT_FALSE(IsIgnored(*ignored, "gpu-operator", "web-0"));
  EXPECT_FALSE(IsIgnored(*ignored, "monitoring-2", "web-0"));
}

TEST(ParseIgnoredPods, EmptyTextIgnoresNone) {
  const auto ignored = ParseIgnoredPods("");
  ASSERT_TRUE(ignored.ok()) << ignored.status();
  EXPECT_THAT(*ignored, IsEmpty());
  EXPECT_FALSE(IsIgnored(*ignored, "monitoring", "web-0"));
}

TEST(ParseIgnoredPods, ErrorHasTheEntryAndWhatIsAllowed) {
  for (const char* const text : {"/web", "a,", "a/", "A/web", "a/web/0", "a b", "-a"}) {
    const auto ignored = ParseIgnoredPods(text);
    EXPECT_EQ(ignored.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(ignored.status().message()), HasSubstr("NAMESPACE/PREFIX"));
  }
}

}  // namespace
}  // namespace gpuscaler
