#include "role/role_options.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Setting GivenFlag(const std::string& name, const std::string& value) {
  return {name, value, "flag --" + name};
}

absl::Status Check(const std::vector<Setting>& flags, const Environment& environment = {}) {
  const auto resolved = ResolveSettings(flags, environment);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return CheckFlagsOfRole(flags, *resolved);
}

TEST(RoleOptions, FlagOfAnotherRoleIsRefused) {
  struct Case {
    std::vector<Setting> flags;
    std::string want;
  };
  const std::string agents = "dns:///agents:6001";
  for (const Case& test : {
           Case{{GivenFlag("role", "aggregator"), GivenFlag("agents", agents),
                 GivenFlag("gpu-source", "nvml")},
                "flag --gpu-source is for role standalone or agent; here is role=aggregator (flag "
                "--role)"},
           Case{{GivenFlag("role", "agent"), GivenFlag("agents", agents), GivenFlag("port", "1"),
                 GivenFlag("port", "2")},
                "flag --agents is for role aggregator, flag --port is for role standalone or "
                "aggregator; here is role=agent (flag --role)"},
           Case{{GivenFlag("telemetry-port", "6001")},
                "flag --telemetry-port is for role agent; here is role=standalone (default)"},
       }) {
    const absl::Status status = Check(test.flags);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << test.want;
    EXPECT_EQ(std::string(status.message()), test.want);
  }
}

TEST(RoleOptions, FlagsOfTheRoleAndOfAllRolesAreAccepted) {
  EXPECT_TRUE(Check({GivenFlag("gpu-source", "none"), GivenFlag("service", "scaler"),
                     GivenFlag("port", "1"), GivenFlag("config", "/dev/null")})
                  .ok());
  EXPECT_TRUE(Check({GivenFlag("role", "agent"), GivenFlag("telemetry-port", "1"),
                     GivenFlag("gpu-source", "none"), GivenFlag("attribution", "none"),
                     GivenFlag("aggregators", "static:10.0.0.7:1,[fd00::7]:1"),
                     GivenFlag("poll-interval", "1s")})
                  .ok());
  // An aggregator's --poll-interval is that of its agents; --stale-after defaults to three of them.
  EXPECT_TRUE(Check({GivenFlag("role", "aggregator"), GivenFlag("agents", "static:a:1"),
                     GivenFlag("grace", "5s"), GivenFlag("node-name", "pod-1"),
                     GivenFlag("poll-interval", "1s"), GivenFlag("port", "1")})
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
  EXPECT_THAT(SettingsOfOtherRoles(*ResolveSettings({GivenFlag("role", "aggregator")}, shared)),
              ElementsAre("environment KEDA_GPU_SCALER_GPU_SOURCE"));
  EXPECT_THAT(SettingsOfOtherRoles(*ResolveSettings({GivenFlag("port", "1")}, {})), IsEmpty());
}

}  // namespace
}  // namespace gpuscaler
