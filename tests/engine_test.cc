// `engine` as a process: its clients, its GPU file and its exit.
#include <csignal>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "gmock/gmock.h"
#include "gpu/file_source.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "process.h"
#include "serve/test_http_client.h"
#include "simulated_engine.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Optional;
using testing::StartsWith;

std::vector<GpuSample> GpusOf(const std::string& path) {
  const SteadyClock clock;
  const auto snapshot = FileSource(path, "node", clock).Read({});
  EXPECT_TRUE(snapshot.ok()) << snapshot.status();
  return snapshot.ok() ? snapshot->gpus.get() : std::vector<GpuSample>();
}

TEST(EngineCommand, RefusesWhileItsModelLoadsAndThenServes) {
  const SimulatedEngine loading({"--load-time=1h"});
  ASSERT_TRUE(loading.process().WaitForErr("event=loading"));
  EXPECT_FALSE(loading.Get("/health").ok());
  const SimulatedEngine engine({"--load-time=100ms"});
  ASSERT_TRUE(engine.Serving()) << engine.process().Diagnostics();
  const auto health = engine.Get("/health");
  ASSERT_TRUE(health.ok()) << health.status();
  EXPECT_THAT(*health, StartsWith("HTTP/1.1 200"));
}

TEST(EngineCommand, ShowsItsGpuFromTheFirstByteToTheEnd) {
  const std::string path = NewTestFolder() + "/gpus.json";
  SimulatedEngine engine({"--gpu-file", path, "--gpu-index=2", "--gpu-memory-percent=80",
                          "--tokens-per-second=10", "--full-batch-tokens-per-second=10"});
  ASSERT_TRUE(engine.Serving()) << engine.process().Diagnostics();
  const auto shows = [&](double busy) {
    return Eventually([&] {
      const std::vector<GpuSample> gpus = GpusOf(path);
      return gpus.size() == 1 && gpus[0].utilization_percent == busy &&
             MemoryUsedPercent(gpus[0]) > 79.9;
    });
  };
  EXPECT_TRUE(shows(0));
  EXPECT_EQ(GpusOf(path)[0].index, 2);
  EXPECT_EQ(GpusOf(path)[0].processes->front().pid, engine.process().pid());
  const auto client = engine.Complete(1000);
  EXPECT_TRUE(shows(100)) << "memory stands, by utilization it is busy";
  engine.process().Signal(SIGTERM);
  ASSERT_TRUE(engine.process().WaitForErr("event=stopping"));
  engine.process().Signal(SIGTERM);
  EXPECT_EQ(engine.process().Wait(), 0);
  EXPECT_THAT(GpusOf(path)[0].memory_used_bytes, Optional(0));
  EXPECT_TRUE(GpusOf(path)[0].processes->empty());
}

TEST(EngineCommand, SeveralShareAFileOfGpus) {
  const std::string path = NewTestFolder() + "/gpus.json";
  const SimulatedEngine first({"--gpu-file", path, "--gpu-index=0"});
  const SimulatedEngine second({"--gpu-file", path, "--gpu-index=1"});
  ASSERT_TRUE(first.Serving() && second.Serving());
  EXPECT_TRUE(Eventually([&] {
    const std::vector<GpuSample> gpus = GpusOf(path);
    return gpus.size() == 2 && MemoryUsedPercent(gpus[0]) > 89 && MemoryUsedPercent(gpus[1]) > 89;
  }));
}

TEST(EngineCommand, SigtermWaitsForRequestsInFlight) {
  SimulatedEngine engine({"--tokens-per-second=10", "--full-batch-tokens-per-second=10"});
  ASSERT_TRUE(engine.Serving()) << engine.process().Diagnostics();
  const auto client = engine.Complete(50);
  ASSERT_TRUE(engine.HasRunning(1));
  engine.process().Signal(SIGTERM);
  const auto reply = client->ReadAll();
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_THAT(*reply, StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(engine.process().Wait(), 0) << engine.process().Diagnostics();
}

TEST(EngineCommand, SecondSignalEndsItAtOnce) {
  SimulatedEngine engine({"--tokens-per-second=1", "--full-batch-tokens-per-second=1"});
  ASSERT_TRUE(engine.Serving()) << engine.process().Diagnostics();
  const auto client = engine.Complete(1000);
  ASSERT_TRUE(engine.HasRunning(1));
  engine.process().Signal(SIGTERM);
  ASSERT_TRUE(engine.process().WaitForErr("event=stopping"));
  engine.process().Signal(SIGTERM);
  EXPECT_EQ(engine.process().Wait(), 0) << engine.process().Diagnostics();
  EXPECT_THAT(engine.process().Err(), HasSubstr("event=stopped_with_open_requests requests=1"));
}

TEST(EngineCommand, CrashEndsTheProcessAndFreesItsGpu) {
  const std::string path = NewTestFolder() + "/gpus.json";
  SimulatedEngine engine({"--gpu-file", path, "--fault=crash"});
  ASSERT_TRUE(engine.Serving()) << engine.process().Diagnostics();
  const auto client = engine.Complete(1);
  EXPECT_EQ(engine.process().Wait(), 1);
  EXPECT_THAT(GpusOf(path)[0].memory_used_bytes, Optional(0));
}

TEST(EngineCommand, LogMayBeJsonAndHasThePortFirst) {
  Process process({"engine", "--port=0", "--log-format=json"});
  ASSERT_TRUE(process.WaitForErr("\"event\":\"serving\"")) << process.Err();
  const auto line = nlohmann::json::parse(process.Err().substr(0, process.Err().find('\n')));
  EXPECT_GT(line["port"], 0);
  process.Signal(SIGINT);
  EXPECT_EQ(process.Wait(), 0);
}

TEST(EngineCommand, TakenPortExits3) {
  const SimulatedEngine engine({});
  ASSERT_TRUE(engine.Serving()) << engine.process().Diagnostics();
  const Finished second = RunProgram({"engine", absl::StrCat("--port=", engine.Port())});
  EXPECT_EQ(second.code, 3) << second.err;
  EXPECT_THAT(second.err, HasSubstr(absl::StrCat(engine.Port())));
}

TEST(EngineCommand, BadFlagsExit2) {
  const struct {
    std::vector<std::string> args;
    const char* want;
  } cases[] = {
      {{"--load-time=5"}, "use a duration with its unit, 0 to 1h"},
      {{"--tokens-per-second=0"}, "use a number, 0.1 to 10000"},
      {{"--tokens-per-second=10"}, "a full batch is no faster"},
      {{"--fault=hangs"}, "did you mean \"hang\"?"},
      {{"--bind-address=localhost"}, "is not an IPv4 or IPv6 address"},
  };
  for (const auto& test : cases) {
    std::vector<std::string> args = {"engine", "--port=0"};
    args.insert(args.end(), test.args.begin(), test.args.end());
    const Finished engine = RunProgram(args);
    EXPECT_EQ(engine.code, 2) << test.want << "\n" << engine.err;
    EXPECT_THAT(engine.err, HasSubstr(test.want));
  }
}

}  // namespace
}  // namespace gpuscaler
