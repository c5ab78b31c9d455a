#include "app/role_options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Setting Flag(const std::string& name, const std::string& value) {
  return {name, value, "flag --" + name};
}

absl::Status Check(const std::vector<Setting>& flags, const Environment& environment = {}) {
  const auto resolved = ResolveSettings(flags, environment);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return CheckFlagsOfRole(flags, *resolved);
}

TEST(RoleOptions, FlagOfAnotherRoleIsRefusedByName) {
  struct Case {
    std::vector<Setting> flags;
    std::string want;
  };
  const std::string agents = "dns:///agents:6001";
  for (const Case& test : {
           Case{{Flag("role", "aggregator"), Flag("agents", agents), Flag("gpu-source", "nvml")},
                "flag --gpu-source is for role standalone or agent; here is role=aggregator (flag "
                "--role)"},
           Case{{Flag("role", "agent"), Flag("agents", agents), Flag("port", "1"),
                 Flag("port", "2")},
                "flag --agents is for role aggregator, flag --port is for role standalone or "
                "aggregator; here is role=agent (flag --role)"},
           Case{{Flag("telemetry-port", "6001")},
                "flag --telemetry-port is for role agent; here is role=standalone (default)"},
       }) {
    const absl::Status status = Check(test.flags);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << test.want;
    EXPECT_EQ(std::string(status.message()), test.want);
  }
}

TEST(RoleOptions, FlagsOfTheRoleAndOfAllRolesAreWelcome) {
  EXPECT_TRUE(Check({Flag("gpu-source", "none"), Flag("service", "scaler"), Flag("port", "1"),
                     Flag("config", "/dev/null")})
                  .ok());
  EXPECT_TRUE(Check({Flag("role", "agent"), Flag("telemetry-port", "1"), Flag("gpu-source", "none"),
                     Flag("attribution", "none"), Flag("poll-interval", "1s")})
                  .ok());
  // An aggregator's --poll-interval is that of its agents: --stale-after is three of them.
  EXPECT_TRUE(Check({Flag("role", "aggregator"), Flag("agents", "static:a:1"), Flag("grace", "5s"),
                     Flag("node-name", "pod-1"), Flag("poll-interval", "1s"), Flag("port", "1")})
                  .ok());
}

TEST(RoleOptions, OtherLayersMayBeSharedByAllRoles) {
  const Environment shared = {{"KEDA_GPU_SCALER_ROLE", "agent"},
                              {"KEDA_GPU_SCALER_AGENTS", "dns:///agents:6001"},
                              {"KEDA_GPU_SCALER_GPU_SOURCE", "none"},
                              {"KEDA_GPU_SCALER_GRACE", "20s"}};
  EXPECT_TRUE(Check({}, shared).ok());
  EXPECT_THAT(SettingsOfOtherRoles(*ResolveSettings({}, shared)),
              ElementsAre("environment KEDA_GPU_SCALER_AGENTS",
                          "environment "
                          "KEDA_GPU_SCALER_GRACE"));
  EXPECT_THAT(SettingsOfOtherRoles(*ResolveSettings({Flag("role", "aggregator")}, shared)),
              ElementsAre("environment KEDA_GPU_SCALER_GPU_SOURCE"));
  EXPECT_THAT(SettingsOfOtherRoles(*ResolveSettings({Flag("port", "1")}, {})), IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
