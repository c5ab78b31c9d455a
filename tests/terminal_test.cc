// `top` and `explain` as processes, on a terminal and without one.
#include <csignal>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "app/test_web_documents.h"
#include "base/bound_port.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "page/test_http_server.h"
#include "process.h"
#include "pseudo_terminal.h"

namespace gpuscaler {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr absl::string_view kEntered = "\x1b[?1049h";
constexpr absl::string_view kLeft = "\x1b[?7h\x1b[?25h\x1b[?1049l";

std::string Refused(int status, absl::string_view error) {
  const std::string body = json{{"error", std::string(error)}}.dump();
  return absl::StrCat("HTTP/1.1 ", status, " Some Words\r\nContent-Length: ", body.size(),
                      "\r\n\r\n", body);
}

// Replies as a scaler with the test's documents.
std::string Reply(absl::string_view path) {
  if (path == "/api/v1/status") return Answer(kTestStatus);
  if (path == "/api/v1/workloads") return Answer(kTestWorkloads);
  if (path == "/api/v1/fleet") return Answer(kTestFleet);
  if (path == "/api/v1/fleet/gpu-1") return Answer(kTestNode);
  const absl::string_view llm = "/api/v1/workloads/shop/llm";
  if (path == llm) return Answer(kTestTriggers);
  if (absl::StartsWith(path, absl::StrCat(llm, "/history?"))) return Answer(kTestHistory);
  if (absl::StrContains(path, "at=1767225000")) return Refused(410, "the explanation is gone");
  if (absl::StartsWith(path, absl::StrCat(llm, "/explanation?"))) return Answer(kTestExplanation);
  return Refused(404, "no such workload");
}

std::string UrlOf(int port) { return absl::StrCat("http://127.0.0.1:", port); }

// `top` on a terminal, with a request each 200 ms.
class Top {
 public:
  explicit Top(int port, Variables variables = {}, std::vector<std::string> more = {})
      : process_(Args(port, std::move(more)), WithTerm(std::move(variables)), "",
                 terminal_.program(), [this] { terminal_.Control(); }) {}

  PseudoTerminal& terminal() { return terminal_; }
  Process& process() { return process_; }

  // Returns the lines of the newest complete frame.
  std::vector<std::string> Frame() {
    const std::string& output = terminal_.Output();
    const size_t end = output.rfind("\x1b[J");
    if (end == std::string::npos) return {};
    const size_t begin = output.rfind("\x1b[H", end);
    return absl::StrSplit(output.substr(begin, end - begin), "\r\n");
  }

  bool WaitForFrameWith(const std::string& text) {
    return Eventually([&] { return absl::StrContains(absl::StrJoin(Frame(), "\n"), text); });
  }

  // Returns true if the terminal is as it was before.
  bool IsRestored() { return absl::EndsWith(terminal_.Output(), kLeft) && !terminal_.IsRaw(); }

 private:
  static std::vector<std::string> Args(int port, std::vector<std::string> more) {
    more.insert(more.begin(), {"top", "--server", UrlOf(port), "--interval=200ms"});
    return more;
  }
  static Variables WithTerm(Variables variables) {
    variables.emplace("TERM", "xterm");
    return variables;
  }

  PseudoTerminal terminal_{120, 24};
  Process process_;
};

TEST(Top, ShowsViewsByKeysAndRestoresTheTerminalAtQ) {
  const TestHttpServer server(Serving(Reply));
  Top top(server.port());
  ASSERT_TRUE(top.WaitForFrameWith("shop/llm")) << top.process().Err();
  EXPECT_TRUE(absl::StrContains(top.terminal().Output(), kEntered));
  EXPECT_TRUE(top.terminal().IsRaw());
  top.terminal().Type("\x1b[B\r");
  EXPECT_TRUE(top.WaitForFrameWith("the sum of 2 replicas"));
  top.terminal().Type("\t");
  EXPECT_TRUE(top.WaitForFrameWith("> gpu-1"));
  top.terminal().Type("\r");
  EXPECT_TRUE(top.WaitForFrameWith("shop/llm-0"));
  top.terminal().Type("q");
  EXPECT_EQ(top.process().Wait(), 0);
  EXPECT_TRUE(top.IsRestored());
  EXPECT_EQ(top.process().Err(), "");
}

TEST(Top, DrawsAnewInTheNewSize) {
  const TestHttpServer server(Serving(Reply));
  Top top(server.port(), {}, {"--interval=1h"});
  ASSERT_TRUE(top.WaitForFrameWith("shop/llm"));
  EXPECT_EQ(top.Frame().size(), 24u);
  top.terminal().Resize(60, 8);
  EXPECT_TRUE(Eventually([&] { return top.Frame().size() == 8; }));
}

TEST(Top, EachSignalRestoresTheTerminal) {
  const TestHttpServer server(Serving(Reply));
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Top top(server.port());
    ASSERT_TRUE(top.WaitForFrameWith("shop/llm")) << signal;
    top.process().Signal(signal);
    EXPECT_EQ(top.process().Wait(), 0) << signal;
    EXPECT_TRUE(top.IsRestored()) << signal;
  }
  Top top(server.port());
  ASSERT_TRUE(top.WaitForFrameWith("shop/llm"));
  top.terminal().Type("\x03");
  EXPECT_EQ(top.process().Wait(), 0) << "Ctrl-C";
  EXPECT_TRUE(top.IsRestored());
}

// Returns the state letter of proc(5): "T" is stopped.
std::string StateOf(const Process& process) {
  std::ifstream status(absl::StrCat("/proc/", process.pid(), "/status"));
  for (std::string word; status >> word;) {
    if (word == "State:" && status >> word) return word;
  }
  return "";
}

TEST(Top, CtrlZRestoresTheTerminalUntilItContinues) {
  const TestHttpServer server(Serving(Reply));
  Top top(server.port());
  ASSERT_TRUE(top.WaitForFrameWith("shop/llm"));
  top.terminal().Type("\x1a");
  ASSERT_TRUE(Eventually([&] { return StateOf(top.process()) == "T"; }));
  EXPECT_TRUE(top.IsRestored());
  top.process().Signal(SIGCONT);
  EXPECT_TRUE(Eventually([&] { return top.terminal().IsRaw(); }));
  top.terminal().Type("q");
  EXPECT_EQ(top.process().Wait(), 0);
  EXPECT_TRUE(top.IsRestored());
}

TEST(Top, KeepsTheLastRowsWhileTheServerIsAway) {
  const auto held = BoundPort::Open("127.0.0.1", 0);  // no other test gets it meanwhile
  ASSERT_TRUE(held.ok()) << held.status();
  std::optional<TestHttpServer> server;
  const auto start = [&] {
    server.emplace(Serving(Reply), nullptr, "127.0.0.1", "", held->port());
  };
  start();
  Top top(held->port());
  ASSERT_TRUE(top.WaitForFrameWith("shop/llm"));
  server.reset();
  ASSERT_TRUE(top.WaitForFrameWith("Connection refused"));
  EXPECT_THAT(top.Frame()[5], HasSubstr("shop/llm"));
  start();
  EXPECT_TRUE(top.WaitForFrameWith("4 triggers, 1 in trouble"));
  EXPECT_THAT(absl::StrJoin(top.Frame(), "\n"), Not(HasSubstr("Connection refused")));
}

TEST(Top, KeysWorkWhileAReplyIsAwaited) {
  const TestHttpServer server([](TestHttpConnection& connection) {
    while (true) {
      const std::string head = connection.ReadRequest();
      if (head.empty()) return;
      if (absl::StrContains(head, "/api/v1/workloads")) {
        connection.Hang();
        return;
      }
      connection.Send(Answer(kTestStatus));
    }
  });
  Top top(server.port());
  ASSERT_TRUE(top.WaitForFrameWith("Loading ..."));
  top.terminal().Type("q");
  EXPECT_EQ(top.process().Wait(absl::Seconds(5)), 0);
  EXPECT_TRUE(top.IsRestored());
}

TEST(Top, HasColoursUnlessNoColorIsSet) {
  const TestHttpServer server(Serving(Reply));
  Top coloured(server.port());
  ASSERT_TRUE(coloured.WaitForFrameWith("shop/llm"));
  EXPECT_TRUE(coloured.WaitForFrameWith("\x1b[7m> shop/embed"));
  Top plain(server.port(), {{"NO_COLOR", "1"}});
  ASSERT_TRUE(plain.WaitForFrameWith("shop/llm"));
  EXPECT_THAT(plain.terminal().Output(), Not(HasSubstr("m> shop/embed")));
}

TEST(Top, PrintsOnePageWithoutATerminal) {
  const TestHttpServer server(Serving(Reply));
  const Finished top = RunProgram({"top", "--server", UrlOf(server.port())}, {{"TERM", "xterm"}});
  EXPECT_EQ(top.code, 0) << top.err;
  EXPECT_THAT(top.out, HasSubstr("shop/llm"));
  EXPECT_THAT(top.out, HasSubstr("gpu-2"));
  EXPECT_THAT(top.out, HasSubstr("1 held, at 0;"));
  EXPECT_THAT(top.out, HasSubstr(" AT 0 "));
  EXPECT_THAT(top.out, Not(HasSubstr("\x1b")));
}

TEST(Top, OncePrintsOnePageOnATerminal) {
  const TestHttpServer server(Serving(Reply));
  Top top(server.port(), {}, {"--once"});
  EXPECT_EQ(top.process().Wait(), 0);
  EXPECT_THAT(top.terminal().Output(), HasSubstr("shop/llm"));
  EXPECT_FALSE(absl::StrContains(top.terminal().Output(), kEntered));
}

TEST(Top, JsonHasTheDocuments) {
  const TestHttpServer server(Serving(Reply));
  const Finished top = RunProgram({"top", "--format=json", "--server", UrlOf(server.port())});
  EXPECT_EQ(top.code, 0) << top.err;
  const json all = json::parse(top.out);
  EXPECT_EQ(all["status"], json::parse(kTestStatus));
  EXPECT_EQ(all["workloads"], json::parse(kTestWorkloads));
  EXPECT_EQ(all["fleet"], json::parse(kTestFleet));
}

TEST(Top, AnUnreachableServerExits4WithThePortForward) {
  const auto silent = BoundPort::Open("127.0.0.1", 0);
  ASSERT_TRUE(silent.ok()) << silent.status();
  Top top(silent->port());
  EXPECT_EQ(top.process().Wait(), 4);
  EXPECT_THAT(top.process().Err(), HasSubstr("kubectl -n gpu-scaler port-forward"));
  EXPECT_FALSE(absl::StrContains(top.terminal().Output(), kEntered));
}

Finished Explain(const std::vector<std::string>& args) {
  const TestHttpServer server(Serving(Reply));
  std::vector<std::string> all = {"explain", "--server", UrlOf(server.port())};
  all.insert(all.end(), args.begin(), args.end());
  return RunProgram(all, {{"TZ", "UTC"}});
}

TEST(Explain, OfNowIsTheTextAlone) {
  const Finished now = Explain({"shop/llm"});
  EXPECT_EQ(now.code, 0) << now.err;
  EXPECT_EQ(now.out, "value: 163.5, the sum of 2 replicas\n  llm-0  80\n  llm-1  83.5\n");
}

TEST(Explain, OfAnInstantHasItsTime) {
  for (const char* at : {"10s", "23:59:50", "2025-12-31T23:59:50Z"}) {
    const Finished past = Explain({"shop/llm", "--at", at});
    EXPECT_EQ(past.code, 0) << past.err;
    EXPECT_THAT(past.out, StartsWith("explained at 2026-01-01 00:00:00 +00:00")) << at;
    EXPECT_THAT(past.out, HasSubstr("at or before 2025-12-31 23:59:50 +00:00\nvalue: 163.5"));
  }
}

TEST(Explain, SinceShowsTheTimeline) {
  const Finished since = Explain({"shop/llm", "--since=1m"});
  EXPECT_EQ(since.code, 0) << since.err;
  EXPECT_THAT(since.out, HasSubstr("replicas    "));
  EXPECT_THAT(since.out, HasSubstr("scale: from 1 to 2 replicas"));
  EXPECT_THAT(since.out, HasSubstr("\nvalue: 163.5"));
}

TEST(Explain, JsonHasTheDocuments) {
  const json all = json::parse(Explain({"shop/llm", "--since=1m", "--format=json"}).out);
  EXPECT_EQ(all[0]["explanation"], json::parse(kTestExplanation));
  EXPECT_EQ(all[0]["history"], json::parse(kTestHistory));
}

TEST(Explain, AnExplanationThatIsGoneExits1) {
  const Finished gone = Explain({"shop/llm", "--at=10m"});
  EXPECT_EQ(gone.code, 1) << gone.out;
  EXPECT_THAT(gone.err, HasSubstr("the explanation is gone"));
  const Finished timeline = Explain({"shop/llm", "--at=10m", "--since=1m"});
  EXPECT_EQ(timeline.code, 1);
  EXPECT_THAT(timeline.out, HasSubstr("scale: from 1 to 2 replicas")) << "the timeline is there";
}

TEST(Explain, AnUnknownWorkloadExits1WithTheNearest) {
  const Finished typo = Explain({"shop/lmm"});
  EXPECT_EQ(typo.code, 1);
  EXPECT_THAT(typo.err, HasSubstr("did you mean \"shop/llm\"?"));
  EXPECT_THAT(typo.err, HasSubstr("zoo/batch"));
}

TEST(Explain, WithoutHistoryThePastExits1) {
  const TestHttpServer server(Serving([](absl::string_view) {
    return Answer(R"({"now":1767225600,"history":{"enabled":false}})");
  }));
  const Finished off =
      RunProgram({"explain", "shop/llm", "--at=1m", "--server", UrlOf(server.port())});
  EXPECT_EQ(off.code, 1) << off.out;
  EXPECT_THAT(off.err, HasSubstr("--history 0"));
}

TEST(Explain, BadUsageExits2) {
  EXPECT_EQ(Explain({}).code, 2);
  EXPECT_EQ(Explain({"llm"}).code, 2);
  EXPECT_EQ(Explain({"shop/llm", "--at=yesterday"}).code, 2);
  EXPECT_EQ(Explain({"shop/llm", "--since=25h"}).code, 2);
  EXPECT_EQ(RunProgram({"top", "--server", "localhost:8082"}).code, 2);
}

TEST(Explain, AnUnreachableServerExits4) {
  const auto silent = BoundPort::Open("127.0.0.1", 0);
  ASSERT_TRUE(silent.ok()) << silent.status();
  const Finished away = RunProgram({"explain", "shop/llm", "--server", UrlOf(silent->port())});
  EXPECT_EQ(away.code, 4) << away.out;
  EXPECT_THAT(away.err, HasSubstr("kubectl -n gpu-scaler port-forward"));
}

}  // namespace
}  // namespace gpuscaler
