#include "fleet/telemetry_bounds.h"

#include <functional>
#include <string>

#include "fleet/telemetry_wire.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

using testing::HasSubstr;
using testing::SizeIs;

wire::Telemetry Message() {
  NodeSnapshot snapshot = SnapshotOf(2, absl::UnixEpoch());
  AddPods(snapshot);
  wire::Telemetry message;
  *message.mutable_node() = NodeOf(snapshot);
  *message.add_readings() = WholeReading(snapshot);
  return message;
}
wire::Gpu& GpuOf(wire::Telemetry& message) { return *message.mutable_readings(0)->mutable_gpus(1); }
wire::Pod& PodOf(wire::Telemetry& message) {
  return *message.mutable_readings(0)->mutable_pods()->mutable_pods(1);
}

TEST(TelemetryBounds, ValidMessageIsUnchanged) {
  wire::Telemetry message = Message();
  EXPECT_TRUE(BoundMessage(message).ok());
  EXPECT_EQ(message.SerializeAsString(), Message().SerializeAsString());
}

TEST(TelemetryBounds, LongestNamesOfKubernetesAreAccepted) {
  wire::Telemetry message = Message();
  message.mutable_node()->set_name(std::string(253, 'n'));
  PodOf(message).set_name(std::string(253, 'p'));
  PodOf(message).set_namespace_name(std::string(63, 's'));
  PodOf(message).mutable_owners(0)->set_name(std::string(253, 'o'));
  const std::string before = message.SerializeAsString();
  EXPECT_TRUE(BoundMessage(message).ok());
  EXPECT_EQ(message.SerializeAsString(), before);
}

struct Refused {
  const char* want;
  std::function<void(wire::Telemetry&)> make;
};

const Refused kRefused[] = {
    {"a node's name of 1048576 characters, at most 253",
     [](auto& message) { message.mutable_node()->set_name(std::string(1 << 20, 'n')); }},
    {"a node's name with a control character",
     [](auto& message) { message.mutable_node()->set_name("node\n-a"); }},
    {"a GPU's UUID of 97 characters, at most 96",
     [](auto& message) { GpuOf(message).set_uuid(std::string(97, 'u')); }},
    {"a GPU's UUID of 97",
     [](auto& message) { GpuOf(message).set_parent_uuid(std::string(97, 'u')); }},
    {"a GPU's link group of 97 characters, at most 96",
     [](auto& message) { GpuOf(message).set_link_group(std::string(97, 'g')); }},
    {"4294967295 as a GPU's index, at most 1024",
     [](auto& message) { GpuOf(message).set_index(4'294'967'295); }},
    {"a container's name of 64 characters, at most 63",
     [](auto& message) {
       GpuOf(message).mutable_holders()->mutable_holders(0)->set_container(std::string(64, 'c'));
     }},
    {"5000 holders of a GPU, at most 4096",
     [](auto& message) {
       auto& holders = *GpuOf(message).mutable_holders();
       while (holders.holders_size() < 5000) holders.add_holders();
     }},
    {"2000 times of memory, at most 1024",
     [](auto& message) {
       auto& memory = *GpuOf(message).mutable_steady_memory();
       while (memory.past_size() < 2000) memory.add_past();
     }},
    {"5000 pods of a node, at most 4096",
     [](auto& message) {
       auto& pods = *message.mutable_readings(0)->mutable_pods();
       while (pods.pods_size() < 5000) pods.add_pods();
     }},
    {"a pod's name of 254 characters, at most 253",
     [](auto& message) { PodOf(message).set_name(std::string(254, 'p')); }},
    {"a namespace's name of 64 characters, at most 63",
     [](auto& message) { PodOf(message).set_namespace_name(std::string(64, 's')); }},
    {"a pod's UID of 97 characters, at most 96",
     [](auto& message) { PodOf(message).set_uid(std::string(97, 'u')); }},
    {"a pod without a name", [](auto& message) { PodOf(message).clear_name(); }},
};

TEST(TelemetryBounds, InvalidNamesAndCountsAreRefused) {
  for (const Refused& refused : kRefused) {
    SCOPED_TRACE(refused.want);
    wire::Telemetry message = Message();
    refused.make(message);
    const absl::Status status = BoundMessage(message);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr(refused.want));
  }
}

// A tenant may write anything into a pod. Other pods of its node must not suffer.
TEST(TelemetryBounds, InvalidOwnersAreDropped) {
  wire::Telemetry message = Message();
  wire::Pod& pod = PodOf(message);
  const auto add = [&](const std::string& kind, const std::string& name) {
    pod.add_owners()->set_kind(kind);
    pod.mutable_owners()->rbegin()->set_name(name);
  };
  add("Deployment", std::string(1 << 20, 'o'));
  add(std::string(64, 'K'), "web");
  add("", "web");
  add("Deployment", "");
  add("Deployment", "web\x1B[2J");
  for (int i = 0; i < 100; ++i) add("Job", absl::StrCat("job-", i));
  EXPECT_TRUE(BoundMessage(message).ok());
  ASSERT_EQ(pod.owners_size(), 32);
  EXPECT_EQ(pod.owners(0).name(), "llama");
  EXPECT_EQ(pod.owners(1).name(), "job-0");
}

TEST(TelemetryBounds, TextsForPeopleAreCutAndAreOneLine) {
  wire::Telemetry message = Message();
  const std::string text = "line\nline\x1B" + std::string(1 << 20, '.');
  message.set_trouble(text);
  message.mutable_node()->set_source(text);
  message.mutable_node()->set_driver_version(text);
  message.mutable_node()->set_agent_version(text);
  message.mutable_readings(0)->mutable_attribution()->set_why(text);
  GpuOf(message).set_name(text);
  GpuOf(message).mutable_gaps()->add_gaps()->set_detail(text);
  EXPECT_TRUE(BoundMessage(message).ok());
  const std::string want = "line line " + std::string(1024 - 10, '.');
  EXPECT_EQ(message.trouble(), want);
  EXPECT_EQ(message.node().source(), want);
  EXPECT_EQ(message.node().driver_version(), want);
  EXPECT_EQ(message.node().agent_version(), want);
  EXPECT_EQ(message.readings(0).attribution().why(), want);
  EXPECT_EQ(GpuOf(message).name(), want);
  EXPECT_EQ(GpuOf(message).gaps().gaps(0).detail(), want);
}

TEST(TelemetryBounds, TextIsCutBetweenCharacters) {
  wire::Telemetry message;
  message.set_trouble("x");
  while (message.trouble().size() < 2000) message.mutable_trouble()->append("\xC3\xA9");
  EXPECT_TRUE(BoundMessage(message).ok());
  EXPECT_THAT(message.trouble(), SizeIs(1023));
}

TEST(TelemetryBounds, ListsThatTenantsMakeLongAreShortened) {
  wire::Telemetry message = Message();
  wire::Gpu& gpu = GpuOf(message);
  for (int i = 0; i < 10'000; ++i) {
    gpu.mutable_processes()->add_processes()->set_pid(i);
    gpu.mutable_gaps()->add_gaps();
    gpu.add_emptied(7);
  }
  EXPECT_TRUE(BoundMessage(message).ok());
  EXPECT_EQ(gpu.processes().processes_size(), 4096);
  EXPECT_EQ(gpu.gaps().gaps_size(), 64);
  EXPECT_EQ(gpu.emptied_size(), 64);
}

TEST(TelemetryBounds, InvalidAddressIsDropped) {
  wire::Telemetry message = Message();
  PodOf(message).set_address(std::string(65, '1'));
  EXPECT_TRUE(BoundMessage(message).ok());
  EXPECT_EQ(PodOf(message).address(), "");
}

}  // namespace
}  // namespace gpuscaler
