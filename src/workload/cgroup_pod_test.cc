#include "workload/cgroup_pod.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/test_folder.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr char kUid[] = "0f3c1d2e-5a6b-4c7d-8e9f-a0b1c2d3e4f5";
constexpr char kUidOfSystemd[] = "0f3c1d2e_5a6b_4c7d_8e9f_a0b1c2d3e4f5";
constexpr char kStaticUid[] = "0f3c1d2e5a6b4c7d8e9fa0b1c2d3e4f5";
constexpr char kId[] = "9c1f00000000000000000000000000000000000000000000000000000000abcd";

TEST(PodUidIn, ReadsTheLayoutsOfKubeletAndRuntimes) {
  struct Row {
    const char* name;
    std::string text;
    std::string uid;
  };
  const std::string slice = absl::StrCat("pod", kUidOfSystemd, ".slice");
  const Row rows[] = {
      {"v2, cgroupfs, guaranteed", absl::StrCat("0::/kubepods/pod", kUid, "/", kId, "\n"), kUid},
      {"v2, cgroupfs, burstable", absl::StrCat("0::/kubepods/burstable/pod", kUid, "/", kId, "\n"),
       kUid},
      {"v2, systemd, containerd, guaranteed",
       absl::StrCat("0::/kubepods.slice/kubepods-", slice, "/cri-containerd-", kId, ".scope\n"),
       kUid},
      {"v2, systemd, containerd, best effort",
       absl::StrCat("0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-", slice,
                    "/cri-containerd-", kId, ".scope\n"),
       kUid},
      {"v2, systemd, CRI-O with a cgroup below",
       absl::StrCat("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-", slice,
                    "/crio-", kId, ".scope/container\n"),
       kUid},
      {"v2, systemd, docker",
       absl::StrCat("0::/kubepods.slice/kubepods-", slice, "/docker-", kId, ".scope"), kUid},
      {"v1, the controllers' lines",
       absl::StrCat("12:cpuset:/\n11:devices:/kubepods/besteffort/pod", kUid, "/", kId,
                    "\n1:name=systemd:/init.scope\n"),
       kUid},
      {"drivers at odds",
       absl::StrCat("0::/system.slice/containerd.service/kubepods-burstable-", slice,
                    ":cri-containerd:", kId, "\n"),
       kUid},
      {"a prefix of kind",
       absl::StrCat("0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-", slice,
                    "/cri-containerd-", kId, ".scope\n"),
       kUid},
      {"from a cgroup namespace of our own",
       absl::StrCat("0::/../../kubepods-", slice, "/cri-containerd-", kId, ".scope\n"), kUid},
      {"a static pod", absl::StrCat("0::/kubepods/burstable/pod", kStaticUid, "/", kId, "\n"),
       kStaticUid},
  };
  for (const Row& row : rows) EXPECT_EQ(PodUidIn(row.text), row.uid) << row.name;
}

TEST(PodUidIn, PodWithoutAContainerIsAPod) {
  EXPECT_EQ(PodUidIn(absl::StrCat("0::/kubepods/pod", kUid)), kUid);
}

TEST(PodUidIn, OtherPathsAreNoPod) {
  const std::string rows[] = {
      "",
      "0::/",
      "0::/user.slice/user-0.slice/session-1.scope",
      absl::StrCat("0::/system.slice/docker-", kId, ".scope"),
      "0::/kubepods/burstable",
      "0::/kubepods/pod",
      "0::/kubepods/pod1234",
      absl::StrCat("0::/kubepods/xpod", kUid),
      absl::StrCat("0::/libpod/pod", kUid),
      absl::StrCat("/kubepods/pod", kUid),
      "0::/kubepods/podzf3c1d2e-5a6b-4c7d-8e9f-a0b1c2d3e4f5",
  };
  for (const std::string& text : rows) EXPECT_EQ(PodUidIn(text), "") << text;
}

class CgroupPodsTest : public testing::Test {
 protected:
  void Start(int pid, const std::string& started, const std::string& uid) {
    proc_.Write(absl::StrCat(pid, "/stat"),
                absl::StrCat(pid, " (vllm) x) S 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 ", started,
                             " 1000 0\n"));
    proc_.Write(absl::StrCat(pid, "/cgroup"),
                absl::StrCat("0::/kubepods/pod", uid, "/", kId, "\n"));
  }

  const TestFolder proc_;
};

TEST_F(CgroupPodsTest, FindsThePodOfAProcess) {
  CgroupPods pods(proc_.path());
  Start(42, "1234", kUid);
  EXPECT_EQ(pods.PodUidOf(42), kUid);
  EXPECT_EQ(pods.PodUidOf(43), "");
}

TEST_F(CgroupPodsTest, ReusedProcessIdIsReadAgain) {
  CgroupPods pods(proc_.path());
  Start(42, "1234", kUid);
  ASSERT_EQ(pods.PodUidOf(42), kUid);
  Start(42, "1234", kStaticUid);
  EXPECT_EQ(pods.PodUidOf(42), kUid);  // the same process: not read again
  Start(42, "99999", kStaticUid);
  EXPECT_EQ(pods.PodUidOf(42), kStaticUid);
  std::filesystem::remove_all(proc_.PathOf("42"));
  EXPECT_EQ(pods.PodUidOf(42), "");
}

TEST_F(CgroupPodsTest, ProcessWithoutReadableStatHasNoPod) {
  CgroupPods pods(proc_.path());
  Start(42, "1234", kUid);
  proc_.Write("42/stat", "42 (vllm");
  EXPECT_EQ(pods.PodUidOf(42), "");
}

}  // namespace
}  // namespace gpuscaler
