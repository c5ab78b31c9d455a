#include "role/reloader.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

TEST(Reloader, FailureSetsTheMetricUntilItIsFixed) {
  Metrics metrics;
  absl::Status status = absl::InvalidArgumentError("tls.crt: not PEM");
  Reloader reloader({{ReloadTarget::kGrpcTls, [&] { return status; }}}, metrics);
  const auto page = [&] { return metrics.Page(nullptr, absl::UnixEpoch(), absl::Seconds(6)); };
  reloader.Tick();
  EXPECT_THAT(page(), HasSubstr("keda_gpu_scaler_reload_failed{what=\"grpc\"} 1"));
  status = absl::OkStatus();
  reloader.Tick();
  EXPECT_THAT(page(), HasSubstr("keda_gpu_scaler_reload_failed{what=\"grpc\"} 0"));
}

TEST(Reloader, BrokenFileDoesNotPreventOtherReloads) {
  Metrics metrics;
  int read = 0;
  Reloader reloader({{ReloadTarget::kProfiles, [] { return absl::InvalidArgumentError("broken"); }},
                     {ReloadTarget::kGrpcTls,
                      [&] {
                        ++read;
                        return absl::OkStatus();
                      }}},
                    metrics);
  reloader.Tick();
  reloader.Tick();
  EXPECT_EQ(read, 2);
}

}  // namespace
}  // namespace gpuscaler
