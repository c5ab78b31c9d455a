#include "gpu/gpu_source.h"

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(OpenGpuSource, UnreadableSourcesOpenAndFailAtTheReading) {
  const FakeClock clock;
  const struct {
    const char* spec;
    const char* want;
  } rows[] = {
      {"none", "--gpu-source none"},
      {"file:/no/such/file", "/no/such/file: cannot be read: No such file"},
      {"dcgm:http://127.0.0.1:1", "dcgm-exporter: 127.0.0.1:1/metrics: Connection refused"},
      {"amd-exporter:http://127.0.0.1:1",
       "device-metrics-exporter: 127.0.0.1:1/metrics: Connection refused"},
  };
  for (const auto& row : rows) {
    const auto source = OpenGpuSource(row.spec, "gpu-7", clock);
    ASSERT_TRUE(source.ok()) << row.spec << ": " << source.status();
    const absl::Status status = (*source)->Read({}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << row.spec;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(row.want)) << row.spec;
  }
}

TEST(OpenGpuSource, NvmlOpensWithOrWithoutADriver) {
  const FakeClock clock;
  for (const char* spec : {"auto", "nvml"}) {
    EXPECT_TRUE(OpenGpuSource(spec, "gpu-7", clock).ok()) << spec;
  }
}

TEST(OpenGpuSource, ErrorOfAWrongUrlNamesWhatIsAllowed) {
  const FakeClock clock;
  const struct {
    const char* spec;
    const char* want;
  } rows[] = {
      {"dcgm:", "neither http:// nor https://: use http://HOST:PORT/PATH"},
      {"dcgm:10.0.0.7:9400", "neither http:// nor https://: use http://HOST:PORT/PATH"},
      {"dcgm:http://$(HOST_IP):9400/metrics", "is no host: use http://HOST:PORT/PATH"},
      {"dcgm:http://me:secret@10.0.0.7", "--gpu-source-credentials names a file with them"},
      {"dcgm:http://10.0.0.7:0", "is no port 1-65535"},
      {"amd-exporter:10.0.0.7", "neither http:// nor https://: use http://HOST:PORT/PATH"},
  };
  for (const auto& row : rows) {
    const absl::Status status = OpenGpuSource(row.spec, "gpu-7", clock).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.spec;
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr(row.want)) << row.spec;
  }
}

TEST(OpenGpuSource, UnknownSourceNamesTheKnownOnes) {
  const FakeClock clock;
  for (const char* spec : {"", "nvlm", "file:", "file"}) {
    const absl::Status status = OpenGpuSource(spec, "gpu-7", clock).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << spec;
    EXPECT_THAT(
        std::string(status.message()),
        testing::HasSubstr("auto, nvml, amd, file:PATH, dcgm:URL, amd-exporter:URL or none"))
        << spec;
  }
}

}  // namespace
}  // namespace gpuscaler
