// `load` against `engine`, as processes.
#include <csignal>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/bound_port.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "process.h"
#include "simulated_engine.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

// A token takes 2 ms in any batch.
const std::vector<std::string>& FastEngine() {
  static const auto& args = *new std::vector<std::string>{"--tokens-per-second=500",
                                                          "--full-batch-tokens-per-second=500"};
  return args;
}

std::vector<std::string> Load(const std::string& url, const std::vector<std::string>& more) {
  std::vector<std::string> args = {"load",          "--target",       url,
                                   "--output=json", "--max-tokens=1", "--prompt-tokens=1"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

nlohmann::json ReportOf(const std::string& text) {
  auto report = nlohmann::json::parse(text, nullptr, false);
  EXPECT_TRUE(report.is_object()) << text;
  return report;
}

TEST(LoadCommand, SendsTheRequestedLoadAndReportsTheOutcome) {
  const SimulatedEngine engine(FastEngine());
  ASSERT_TRUE(engine.Serving()) << engine.process().Diagnostics();
  const Finished load = RunProgram(Load(engine.Url(), {"--rate=50", "--duration=4s"}));
  EXPECT_EQ(load.code, 0) << load.out << load.err;
  const auto report = ReportOf(load.out);
  EXPECT_EQ(report["requests"], 200);
  EXPECT_EQ(report["answered"], 200);
  EXPECT_EQ(report["requests_per_second"].get<double>(), report["sent_per_second"].get<double>());
  EXPECT_GT(report["latency_seconds"]["p50"], 0.002);
  EXPECT_THAT(load.err, HasSubstr("requests 50/s")) << "a line a second";
  const auto page = engine.Get("/metrics");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(*page, HasSubstr("finished_reason=\"length\"} 200\n"));
}

TEST(LoadCommand, ReportsHaveNoPassword) {
  for (const char* output : {"json", "text"}) {
    const Finished load =
        RunProgram({"load", "--target=http://ci:hunter2@127.0.0.1:1/v1/completions", "--rate=2",
                    "--duration=1s", absl::StrCat("--output=", output)});
    EXPECT_THAT(load.out, HasSubstr("http://127.0.0.1:1/v1/completions")) << load.err;
    EXPECT_THAT(absl::StrCat(load.out, load.err), Not(HasSubstr("hunter2")));
  }
}

// A closed-loop generator would send one request during the stall, and show one slow request in
// all.
TEST(LoadCommand, StallOfASecondShowsInThePercentiles) {
  const SimulatedEngine engine(FastEngine());
  ASSERT_TRUE(engine.Serving()) << engine.process().Diagnostics();
  for (const std::string concurrency : {"1000", "1"}) {
    Process load(Load(engine.Url(), {"--rate=100", "--duration=4s", "--concurrency", concurrency}));
    ASSERT_TRUE(load.WaitForErr("s  requests")) << load.Diagnostics();
    engine.process().Signal(SIGSTOP);
    absl::SleepFor(absl::Seconds(1));  // the stall
    engine.process().Signal(SIGCONT);
    EXPECT_EQ(load.Wait(), 0) << load.Diagnostics();
    const auto report = ReportOf(load.Out());
    EXPECT_EQ(report["answered"], 400) << concurrency;
    EXPECT_GT(report["latency_seconds"]["p95"], 0.5) << concurrency << load.Out();
    if (concurrency == "1") {
      EXPECT_GT(report["late"], 50);
    }
  }
}

TEST(LoadCommand, AFileSetsRatesAndDuration) {
  const SimulatedEngine engine(FastEngine());
  ASSERT_TRUE(engine.Serving()) << engine.process().Diagnostics();
  const std::string path = WriteTestFile("shape", "0 100\n0.5 0\n1 50 # again\n1.5 0\n");
  const Finished load = RunProgram(Load(engine.Url(), {"--shape", path}));
  EXPECT_EQ(load.code, 0) << load.err;
  EXPECT_EQ(ReportOf(load.out)["requests"], 75);
}

TEST(LoadCommand, ErrorsAreReportedByKindAndExitCode) {
  const SimulatedEngine engine({"--fault=error", "--fault-after=5"});
  ASSERT_TRUE(engine.Serving()) << engine.process().Diagnostics();
  const Finished failing = RunProgram(Load(engine.Url(), {"--rate=20", "--duration=1s"}));
  EXPECT_EQ(failing.code, 1);
  EXPECT_EQ(ReportOf(failing.out)["errors"]["HTTP 500"], 15);
  const auto silent = BoundPort::Open("127.0.0.1", 0);
  ASSERT_TRUE(silent.ok()) << silent.status();
  const std::string url = absl::StrCat("http://127.0.0.1:", silent->port());
  const Finished refused = RunProgram(Load(url, {"--rate=20", "--duration=1s"}));
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(ReportOf(refused.out)["errors"]["cannot connect"], 20);
  EXPECT_TRUE(ReportOf(refused.out)["latency_seconds"].is_null());
}

TEST(LoadCommand, HungServerIsATimeoutAndTheRestIsNotSent) {
  const SimulatedEngine engine({"--fault=hang"});
  ASSERT_TRUE(engine.Serving()) << engine.process().Diagnostics();
  const Finished load = RunProgram(
      Load(engine.Url(), {"--rate=20", "--duration=1s", "--timeout=200ms", "--concurrency=1"}));
  EXPECT_EQ(load.code, 1);
  const auto report = ReportOf(load.out);
  EXPECT_EQ(report["requests"], 20);
  EXPECT_EQ(report["errors"]["timeout"], report["sent"]);
  EXPECT_GT(report["not_sent"], 5);
}

TEST(LoadCommand, SigintStopsItAndItReports) {
  const SimulatedEngine engine(FastEngine());
  ASSERT_TRUE(engine.Serving()) << engine.process().Diagnostics();
  Process load(Load(engine.Url(), {"--rate=50", "--duration=1h", "--poisson"}));
  ASSERT_TRUE(load.WaitForErr("requests 50/s")) << load.Diagnostics();
  load.Signal(SIGINT);
  EXPECT_EQ(load.Wait(), 0) << load.Diagnostics();
  EXPECT_EQ(ReportOf(load.Out())["stopped"], true);
  EXPECT_GT(ReportOf(load.Out())["answered"], 10);
}

TEST(LoadCommand, BadFlagsExit2AndNameTheFault) {
  const std::string bad = WriteTestFile("bad", "0 10\n5 ten\n");
  const std::string endless = WriteTestFile("endless", "0 10\n");
  const struct {
    std::vector<std::string> args;
    std::string want;
  } cases[] = {
      {{}, "flag --target is missing"},
      {{"--target=nowhere"}, "use a URL such as http://"},
      {{"--target=http://x", "--shape=constnt"}, "did you mean \"constant\"?"},
      {{"--target=http://x", "--shape", bad}, absl::StrCat(bad, ": line 2: \"ten\": the rate")},
      {{"--target=http://x", "--shape", endless}, "add a last line"},
      {{"--target=http://x", "--rate=-1"}, "use a number, 0 to 100000"},
      {{"--target=http://x", "--rate=1", "--base=2"}, "--base is more than --rate"},
      {{"--target=http://x", "--duration=5"}, "use a duration with its unit"},
  };
  for (const auto& test : cases) {
    std::vector<std::string> args = {"load"};
    args.insert(args.end(), test.args.begin(), test.args.end());
    const Finished load = RunProgram(args);
    EXPECT_EQ(load.code, 2) << test.want << "\n" << load.err;
    EXPECT_THAT(load.err, HasSubstr(test.want));
  }
}

}  // namespace
}  // namespace gpuscaler
