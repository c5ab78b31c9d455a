#include "role/open_attribution.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/test_dropped_privileges.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kubelet/fake_kubelet.h"
#include "model/node_snapshot.h"

namespace gpuscaler {
namespace {

Config AutoConfig(const std::string& socket) {
  return {.attribution = AttributionMode::kAuto, .pod_resources_socket = socket};
}

TEST(OpenAttribution, AutoIsKubeletIfItsSocketExists) {
  const TestFolder folder;
  const FakeKubelet kubelet(folder.path());
  EXPECT_EQ(AttributionHere(AutoConfig(kubelet.pod_resources_socket())), AttributionMode::kKubelet);
}

TEST(OpenAttribution, AutoIsNoneWithoutASocket) {
  const TestFolder folder;
  for (const std::string& socket :
       {folder.PathOf("none/kubelet.sock"), folder.PathOf("kubelet.sock"), folder.path()}) {
    EXPECT_EQ(AttributionHere(AutoConfig(socket)), AttributionMode::kNone) << socket;
  }
  EXPECT_EQ(OpenAttribution(AutoConfig(folder.path()), SteadyClock()), nullptr);
}

TEST(OpenAttribution, AutoIsPageWithDcgmExporterAndWithoutASocket) {
  const TestFolder folder;
  Config config = AutoConfig(folder.PathOf("none/kubelet.sock"));
  config.gpu_source = "dcgm:http://127.0.0.1:9400";
  EXPECT_EQ(AttributionHere(config), AttributionMode::kPage);
  EXPECT_EQ(OpenAttribution(config, SteadyClock()), nullptr);
  const FakeKubelet kubelet(folder.path());
  config.pod_resources_socket = kubelet.pod_resources_socket();
  EXPECT_EQ(AttributionHere(config), AttributionMode::kKubelet);
}

// Its page has no id that the kubelet's lists have.
TEST(OpenAttribution, AutoIsPageWithAmdsExporterBesideAKubeletToo) {
  const TestFolder folder;
  const FakeKubelet kubelet(folder.path());
  Config config = AutoConfig(kubelet.pod_resources_socket());
  config.gpu_source = "amd-exporter:http://127.0.0.1:5000";
  EXPECT_EQ(AttributionHere(config), AttributionMode::kPage);
}

// On such a node only root may read the kubelet's folder. With kNone, every GPU in use would count
// for every workload.
TEST(OpenAttribution, InaccessibleFolderMakesOwnersUnknown) {
  const TestFolder folder;
  const FakeKubelet kubelet(folder.AddFolder("kubelet"));
  const SteadyClock clock;
  NodeSnapshot snapshot;
  snapshot.taken_at = clock.Now();
  ASSERT_EQ(chmod(folder.PathOf("kubelet").c_str(), getuid() == 0 ? 0700 : 0), 0);
  {
    const DroppedPrivileges unprivileged;
    const auto attribution = OpenAttribution(AutoConfig(kubelet.pod_resources_socket()), clock);
    ASSERT_NE(attribution, nullptr);
    attribution->Query();
    attribution->Annotate(snapshot);
  }
  ASSERT_EQ(chmod(folder.PathOf("kubelet").c_str(), 0700), 0);
  EXPECT_EQ(snapshot.attribution.state, Attribution::State::kUnknown);
  EXPECT_THAT(snapshot.attribution.why, testing::HasSubstr("permission denied"));
}

}  // namespace
}  // namespace gpuscaler
