#include "app/open_attribution.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"
#include "model/node_snapshot.h"

namespace gpuscaler {
namespace {

std::string KubeletsFolder() {
  return absl::StrCat(testing::TempDir(), "open_attribution_test.", getpid());
}

Config ByItself(const std::string& socket) {
  return {.attribution = AttributionMode::kAuto, .pod_resources_socket = socket};
}

TEST(OpenAttribution, AutoAsksTheKubeletThatIsThere) {
  const FakeKubelet kubelet(KubeletsFolder());
  EXPECT_EQ(AttributionHere(ByItself(kubelet.pod_resources_socket())), AttributionMode::kKubelet);
}

TEST(OpenAttribution, AutoAsksNobodyWhereThereIsNoSocket) {
  const std::string folder = KubeletsFolder();
  EXPECT_EQ(AttributionHere(ByItself(folder + "/none/kubelet.sock")), AttributionMode::kNone);
  std::filesystem::create_directories(folder);
  EXPECT_EQ(AttributionHere(ByItself(folder + "/kubelet.sock")), AttributionMode::kNone);
  EXPECT_EQ(AttributionHere(ByItself(folder)), AttributionMode::kNone);
  EXPECT_EQ(OpenAttribution(ByItself(folder), SteadyClock()), nullptr);
  std::filesystem::remove_all(folder);
}

TEST(OpenAttribution, AutoTakesThePodsOfDcgmExportersPageWhereThereIsNoSocket) {
  Config config = ByItself(KubeletsFolder() + "/none/kubelet.sock");
  config.gpu_source = "dcgm:http://127.0.0.1:9400";
  EXPECT_EQ(AttributionHere(config), AttributionMode::kPage);
  EXPECT_EQ(OpenAttribution(config, SteadyClock()), nullptr);
  const FakeKubelet kubelet(KubeletsFolder());
  config.pod_resources_socket = kubelet.pod_resources_socket();
  EXPECT_EQ(AttributionHere(config), AttributionMode::kKubelet);
}

// In a process of its own, which root's powers leave. As on a node whose kubelet's folder is
// root's alone: every GPU in use would count for everybody otherwise.
TEST(OpenAttributionDeathTest, FolderThatMayNotBeSearchedMakesOwnersUnknown) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string folder = KubeletsFolder();
  const FakeKubelet kubelet(folder);
  ASSERT_EQ(chmod(folder.c_str(), getuid() == 0 ? 0700 : 0), 0);
  EXPECT_EXIT(
      {
        if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) std::_Exit(1);
        const SteadyClock clock;
        const auto attribution = OpenAttribution(ByItself(kubelet.pod_resources_socket()), clock);
        if (attribution == nullptr) std::_Exit(2);
        attribution->Ask();
        NodeSnapshot snapshot;
        snapshot.taken_at = clock.Now();
        attribution->Annotate(snapshot);
        const bool is_unknown = snapshot.attribution.state == Attribution::State::kUnknown;
        std::fprintf(stderr, "%s\n", snapshot.attribution.why.c_str());
        std::_Exit(is_unknown ? 0 : 3);
      },
      testing::ExitedWithCode(0), "permission denied");
  chmod(folder.c_str(), 0700);
}

}  // namespace
}  // namespace gpuscaler
