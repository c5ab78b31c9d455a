#include "workload/dra_checkpoint.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(ParseDraCheckpoint, HasUuidsAndAdminAccessByClaimAndDevice) {
  const auto devices = ParseDraCheckpoint(R"({"checksum": 1, "v1": {}, "v2": {
    "checksum": 2, "nodeBootID": "x", "preparedClaims": {
      "dab5ab50": {"checkpointState": "PrepareCompleted",
        "status": {"allocation": {"devices": {"results": [
          {"request": "gpu", "driver": "gpu.nvidia.com", "pool": "node", "device": "gpu-0"},
          {"request": "all", "driver": "gpu.nvidia.com", "pool": "node", "device": "gpu-1",
           "adminAccess": true},
          {"request": "nic", "driver": "nic.example.com", "pool": "node", "device": "nic-0",
           "adminAccess": true}]}}},
        "preparedDevices": [{"devices": [
          {"gpu": {"info": {"uuid": "GPU-a"}, "device": {"DeviceName": "gpu-0"}}, "mig": null},
          {"gpu": null, "mig": {"concrete": {"migUUID": "MIG-b", "giId": 3},
                                "device": {"DeviceName": "gpu-2-mig-1g5gb-19-0"}}}],
          "configState": {}}]},
      "eab5ab50": {"checkpointState": "PrepareStarted",
        "status": {"allocation": {"devices": {"results": [
          {"driver": "gpu.nvidia.com", "device": "gpu-3", "adminAccess": true}]}}}}}}})");
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_EQ(devices->by_claim.size(), 4);
  EXPECT_TRUE(devices->by_pod.empty());
  EXPECT_EQ(devices->by_claim.at({"dab5ab50", "gpu-0"}).uuid, "GPU-a");
  EXPECT_FALSE(devices->by_claim.at({"dab5ab50", "gpu-0"}).has_admin_access);
  EXPECT_TRUE(devices->by_claim.at({"dab5ab50", "gpu-1"}).has_admin_access);
  EXPECT_EQ(devices->by_claim.at({"dab5ab50", "gpu-2-mig-1g5gb-19-0"}).uuid, "MIG-b");
  EXPECT_TRUE(devices->by_claim.at({"eab5ab50", "gpu-3"}).has_admin_access);
}

TEST(ParseDraCheckpoint, EarlierVersionsAreRead) {
  const auto devices = ParseDraCheckpoint(R"({"v1": {"preparedClaims": {"dab5ab50": {
    "preparedDevices": [{"devices": [{"mig": {"info": {"uuid": "MIG-b"},
                                              "device": {"DeviceName": "gpu-0-mig-19-0-1"}}}]}]}}}})");
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_EQ(devices->by_claim.at({"dab5ab50", "gpu-0-mig-19-0-1"}).uuid, "MIG-b");
}

// Drivers until v25.8 name no claim, and their status has the pods.
TEST(ParseDraCheckpoint, DevicesHaveEntriesByPodName) {
  const auto devices = ParseDraCheckpoint(R"({"v1": {"preparedClaims": {
    "dab5ab50": {"status": {
      "allocation": {"devices": {"results": [
        {"driver": "gpu.nvidia.com", "device": "gpu-0", "adminAccess": true}]}},
      "reservedFor": [{"resource": "pods", "name": "exporter-x7k2p"},
                      {"resource": "jobs", "name": "train"}, {"resource": "pods"}, 1]}},
    "eab5ab50": {"status": {
      "allocation": {"devices": {"results": [{"driver": "gpu.nvidia.com", "device": "gpu-0"}]}},
      "reservedFor": [{"resource": "pods", "name": "web-0"}]},
      "preparedDevices": [{"devices": [
        {"gpu": {"info": {"uuid": "GPU-a"}, "device": {"DeviceName": "gpu-0"}}}]}]},
    "fab5ab50": {"status": {
      "allocation": {"devices": {"results": [
        {"driver": "gpu.nvidia.com", "device": "gpu-0", "adminAccess": true}]}},
      "reservedFor": [{"resource": "pods", "name": "web-0"}]}}}}})");
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_EQ(devices->by_claim.size(), 3);
  EXPECT_EQ(devices->by_pod.size(), 2);
  EXPECT_TRUE(devices->by_pod.at({"exporter-x7k2p", "gpu-0"}).has_admin_access);
  EXPECT_EQ(devices->by_pod.at({"web-0", "gpu-0"}).uuid, "GPU-a");
  EXPECT_FALSE(devices->by_pod.at({"web-0", "gpu-0"}).has_admin_access)
      << "it has another claim besides";
}

TEST(ParseDraCheckpoint, OtherTextIsAnError) {
  for (const char* const text : {"", "{", "[]", "{}", R"({"v2": null})", R"({"v3": {}})"}) {
    EXPECT_EQ(ParseDraCheckpoint(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(ParseDraCheckpoint, FieldsOfOtherTypesCountAsAbsent) {
  for (const char* const text :
       {R"({"v2": {}})", R"({"v2": {"preparedClaims": []}})",
        R"({"v2": {"preparedClaims": {"a": 1, "b": {"status": [], "preparedDevices": {"x": 1}}}}})",
        R"({"v2": {"preparedClaims": {"a": {"preparedDevices": [{"devices": [{"gpu": 1}]}]}}}})"}) {
    const auto devices = ParseDraCheckpoint(text);
    ASSERT_TRUE(devices.ok()) << text << devices.status();
    EXPECT_TRUE(devices->by_claim.empty() && devices->by_pod.empty()) << text;
  }
}

}  // namespace
}  // namespace gpuscaler
