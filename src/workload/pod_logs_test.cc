#include "workload/pod_logs.h"

#include "absl/strings/str_cat.h"
#include "base/test_folder.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr char kLogsUid[] = "0f3c1d2e-5a6b-4c7d-8e9f-a0b1c2d3e4f5";

class PodLogsTest : public testing::Test {
 protected:
  const TestFolder folder_;
  const absl::Time start_ = absl::UnixEpoch();
};

TEST_F(PodLogsTest, NamesThePodOfAUid) {
  folder_.AddFolder(absl::StrCat("shop_web-6d4cf56db6-x7k2p_", kLogsUid));
  folder_.AddFolder("lost+found");
  folder_.AddFolder("a_b");
  PodLogs logs(folder_.path());
  EXPECT_EQ(logs.NameOf(kLogsUid, start_), "shop/web-6d4cf56db6-x7k2p");
  EXPECT_EQ(logs.NameOf("b", start_), "");
}

TEST_F(PodLogsTest, UnknownUidReadsTheFolderAtIntervals) {
  PodLogs logs(folder_.path());
  EXPECT_EQ(logs.NameOf(kLogsUid, start_), "");
  folder_.AddFolder(absl::StrCat("shop_web-0_", kLogsUid));
  EXPECT_EQ(logs.NameOf(kLogsUid, start_ + absl::Seconds(4)), "");
  EXPECT_EQ(logs.NameOf(kLogsUid, start_ + absl::Seconds(5)), "shop/web-0");
}

TEST_F(PodLogsTest, MissingFolderHasNoNames) {
  EXPECT_EQ(PodLogs("/nonexistent").NameOf(kLogsUid, start_), "");
}

}  // namespace
}  // namespace gpuscaler
