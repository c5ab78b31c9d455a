// `top`: workloads and fleet of a running scaler, live.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "app/commands.h"
#include "app/full_screen.h"
#include "app/gpu_cells.h"
#include "app/termination.h"
#include "app/top_screen.h"
#include "app/value_flags.h"
#include "app/web_client.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

constexpr char kStatusPath[] = "/api/v1/status";
constexpr absl::Duration kLongestWait = absl::Seconds(1);  // the screen shows the age of an error

struct TopFlags {
  WebClientOptions client;
  absl::Duration interval = absl::Seconds(2);
  std::string format = "text";
  bool once = false;
  bool ascii = false;
};

// Requests the documents of TopPage().
absl::StatusOr<TopDocuments> GetAll(HttpClient& client) {
  TopDocuments documents;
  ASSIGN_OR_RETURN(documents.status, WebDocumentOf(client.Get(kStatusPath)));
  ASSIGN_OR_RETURN(documents.workloads, WebDocumentOf(client.Get("/api/v1/workloads")));
  ASSIGN_OR_RETURN(documents.fleet, WebDocumentOf(client.Get("/api/v1/fleet")));
  return documents;
}

absl::Status PrintPage(HttpClient& client, const TopFlags& flags) {
  ASSIGN_OR_RETURN(const TopDocuments documents, GetAll(client));
  if (flags.format == "json") {
    std::cout << JsonText({{"status", documents.status},
                           {"workloads", documents.workloads},
                           {"fleet", documents.fleet}},
                          false)
              << std::flush;
    return absl::OkStatus();
  }
  const size_t width = HasScreen() ? SizeOfOutput().width : 0;
  std::cout << absl::StrJoin(
                   TopPage(documents, width, StyleOfOutput(flags.ascii), absl::LocalTimeZone()),
                   "\n")
            << "\n"
            << std::flush;
  return absl::OkStatus();
}

// The screen until the user ends it. Requests the status, then the document of the view, and waits
// for the interval. All waits are in HttpClient::Wait(), so keys work while a request hangs.
class TopSession {
 public:
  TopSession(HttpClient& client, const TopFlags& flags, WebDocument status)
      : client_(client), flags_(flags) {
    documents_.status = std::move(status);
  }

  void Run();

 private:
  void Draw();
  void Request(std::string path);
  void TakeReply(const absl::StatusOr<HttpAnswer>& reply);
  void TakeSignals();
  void TakeKeys();

  HttpClient& client_;
  const TopFlags& flags_;
  const SteadyClock clock_;
  const TerminationSignals signals_{SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
  FullScreen screen_;
  TopState state_;
  TopDocuments documents_;
  std::string path_ = kStatusPath;  // the newest request
  absl::Time replied_at_ = clock_.Now();
  absl::Time next_request_ = absl::InfinitePast();
  absl::Time drawn_at_ = absl::InfinitePast();  // InfinitePast: the screen has to be drawn anew
  bool has_keys_ = isatty(STDIN_FILENO) != 0;
};

void TopSession::Run() {
  const int signal = signals_.OpenDescriptor();
  Request(TopPath(state_));
  while (!state_.ended && std::cout) {
    if (!client_.in_flight() && clock_.Now() >= next_request_) Request(kStatusPath);
    if (clock_.Now() - drawn_at_ >= kLongestWait) Draw();
    const std::array<int, 2> descriptors = {signal, STDIN_FILENO};
    const absl::Duration wait =
        client_.in_flight() ? kLongestWait : std::min(next_request_ - clock_.Now(), kLongestWait);
    const auto reply = client_.Wait(std::max(wait, absl::ZeroDuration()),
                                    std::span(descriptors).first(has_keys_ ? 2 : 1));
    if (reply) TakeReply(*reply);
    TakeSignals();
    TakeKeys();
  }
  close(signal);
}

void TopSession::Draw() {
  drawn_at_ = clock_.Now();
  documents_.age = drawn_at_ - replied_at_;
  screen_.Draw(TopLines(documents_, state_, SizeOfOutput(), StyleOfOutput(flags_.ascii),
                        absl::LocalTimeZone()));
}

void TopSession::Request(std::string path) {
  path_ = std::move(path);
  client_.Start(path_);
}

void TopSession::TakeReply(const absl::StatusOr<HttpAnswer>& reply) {
  drawn_at_ = absl::InfinitePast();
  auto document = WebDocumentOf(reply);
  next_request_ = clock_.Now() + flags_.interval;
  if (!document.ok()) {
    documents_.fault = std::string(document.status().message());
    return;
  }
  replied_at_ = clock_.Now();
  if (path_ == kStatusPath) {
    documents_.status = *std::move(document);
    Request(TopPath(state_));
    return;
  }
  documents_.fault.clear();
  SetTopDocument(state_, *std::move(document), documents_);
}

void TopSession::TakeSignals() {
  while (const int signal = signals_.WaitFor(absl::ZeroDuration())) {
    drawn_at_ = absl::InfinitePast();
    if (signal == SIGTSTP) {
      screen_.Suspend();
    } else if (signal != SIGWINCH) {
      state_.ended = true;
    }
  }
}

void TopSession::TakeKeys() {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  if (!has_keys_ || poll(&input, 1, 0) != 1) return;
  std::array<char, 256> bytes;
  const ssize_t count = read(STDIN_FILENO, bytes.data(), bytes.size());
  if (count <= 0) {
    has_keys_ = false;
    return;
  }
  drawn_at_ = absl::InfinitePast();
  const std::string before = TopPath(state_);
  for (const Key& key : KeysOf({bytes.data(), static_cast<size_t>(count)})) {
    OnTopKey(key, documents_, SizeOfOutput(), state_);
  }
  if (TopPath(state_) == before) return;
  documents_.opened = nullptr;
  Request(TopPath(state_));
}

absl::Status RunTop(const TopFlags& flags) {
  ASSIGN_OR_RETURN(const auto client, OpenWebClient(flags.client));
  if (flags.once || flags.format == "json" || !HasScreen()) return PrintPage(*client, flags);
  // A first reply, so that a wrong address is an error and no screen.
  ASSIGN_OR_RETURN(WebDocument status, WebDocumentOf(client->Get(kStatusPath)));
  TopSession(*client, flags, std::move(status)).Run();
  return absl::OkStatus();
}

}  // namespace

Command TopCommand() {
  const auto flags = std::make_shared<TopFlags>();
  Command command = {
      .name = "top",
      .help = "Show workloads and fleet of a running scaler, live; one page if output is a file.",
      .flags = {DurationFlag("interval", "Time between two requests.", absl::Milliseconds(200),
                             absl::Hours(1), &flags->interval),
                SwitchFlag("once", "Print one page and exit.", &flags->once),
                SwitchFlag("ascii", "Draw with ASCII characters only.", &flags->ascii),
                WordFlag("format", "FORMAT", "Format; json is one page of the web API's documents.",
                         {"text", "json"}, &flags->format)},
      .run = [flags](const std::vector<std::string>&) -> int {
        const absl::Status done = RunTop(*flags);
        return done.ok() ? kExitOk : Fail("keda-gpu-scaler top", done, kExitUnavailable);
      }};
  for (Flag& flag : WebClientFlags(&flags->client)) command.flags.push_back(std::move(flag));
  return command;
}

}  // namespace gpuscaler
