#include "simulate/engine_server.h"

#include <microhttpd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "simulate/completion_api.h"
#include "simulate/serving_engine.h"
#include "simulate/vllm_exposition.h"

namespace gpuscaler {
namespace {

constexpr size_t kLargestBody = size_t{1} << 20;
constexpr size_t kConnectionMemoryBytes = 16 * 1024;
constexpr size_t kEndlessBlockBytes = 64 * 1024;
constexpr unsigned kIdleSeconds = 60;  // closes connections without a request
constexpr rlim_t kOtherFiles = 64;
constexpr rlim_t kMaxConnections = 65536;

struct EngineReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::string location;  // target of a redirect
  bool endless = false;
};

EngineReply ErrorOf(int status, absl::string_view message) {
  return {.status = status, .body = ErrorReply(status, message)};
}

EngineReply ErrorOf(const absl::Status& error) {
  const int status = absl::IsNotFound(error) ? 404 : absl::IsUnavailable(error) ? 503 : 400;
  return ErrorOf(status, error.message());
}

unsigned ConnectionLimit() {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  const rlim_t most = files.rlim_cur > 2 * kOtherFiles ? files.rlim_cur - kOtherFiles : kOtherFiles;
  return static_cast<unsigned>(std::min(most, kMaxConnections));
}

// One request, from its headers until its reply is sent or its connection is closed.
struct Exchange {
  std::string body;
  bool too_large = false;
  bool held = false;
  CompletionRequest request;
  int64_t id = 0;
  absl::Time created;
  absl::Status refused;              // error if the engine rejected it
  std::atomic<bool> served = false;  // false when resumed: client gone or engine stopped
};

class MicroHttpdEngine final : public EngineServer {
 public:
  MicroHttpdEngine(EngineServerOptions options, const Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        started_at_(clock.Now()),
        faulty_page_(FaultyPage(options_.fault)),
        engine_(options_.batch, clock) {}
  ~MicroHttpdEngine() override;

  absl::Status Serve(int listening);

  EngineGauges Gauges() const override { return engine_.Gauges(); }
  EngineTotals Totals() const override { return engine_.Totals(); }
  void StopAccepting() override;
  bool WaitUntilAnswered(absl::Duration timeout) override;

 private:
  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* path,
                              const char* method, const char* version, const char* upload,
                              size_t* upload_size, void** context);
  static void OnCompleted(void* self, MHD_Connection* connection, void** context,
                          MHD_RequestTerminationCode why);

  bool Faulty(EngineFault fault) const {
    return options_.fault == fault && accepted_ >= options_.fault_after;
  }
  MHD_Result Answer(MHD_Connection* connection, Exchange& exchange, absl::string_view method,
                    absl::string_view path);
  MHD_Result Complete(MHD_Connection* connection, Exchange& exchange, bool chat);
  MHD_Result Hang(MHD_Connection* connection, Exchange& exchange);
  EngineReply PageAt(absl::string_view path) const;
  EngineReply MetricsEndpoint() const;
  EngineReply Served(const Exchange& exchange) const;
  MHD_Result Send(MHD_Connection* connection, const EngineReply& reply) const;

  const EngineServerOptions options_;
  const Clock& clock_;
  const absl::Time started_at_;
  const std::string faulty_page_;
  ServingEngine engine_;
  MHD_Daemon* daemon_ = nullptr;
  int accepted_ = 0;  // completions; used by the daemon's thread only
  std::atomic<bool> stopping_ = false;
  Mutex mutex_;
  CondVar answered_;
  int open_ ABSL_GUARDED_BY(mutex_) = 0;  // exchanges
};

int SocketOf(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

ssize_t WriteEndless(void* /*unused*/, uint64_t /*position*/, char* buffer, size_t size) {
  const absl::string_view part = EndlessPart();
  for (size_t i = 0; i < size; ++i) buffer[i] = part[i % part.size()];
  return static_cast<ssize_t>(size);
}

absl::Status MicroHttpdEngine::Serve(int listening) {
  daemon_ = MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, &OnRequest,
      this, MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT, ConnectionLimit(),
      MHD_OPTION_CONNECTION_TIMEOUT, kIdleSeconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
      kConnectionMemoryBytes, MHD_OPTION_NOTIFY_COMPLETED, &OnCompleted, this, MHD_OPTION_END);
  if (daemon_ != nullptr) return absl::OkStatus();
  close(listening);
  return absl::UnavailableError("cannot start the HTTP server");
}

// MHD_stop_daemon() requires that no connection is suspended.
MicroHttpdEngine::~MicroHttpdEngine() {
  engine_.Stop();
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
}

void MicroHttpdEngine::StopAccepting() {
  stopping_ = true;
  const int listening = MHD_quiesce_daemon(daemon_);
  if (listening >= 0) close(listening);
}

bool MicroHttpdEngine::WaitUntilAnswered(absl::Duration timeout) {
  const absl::Time deadline = clock_.Now() + timeout;
  MutexLock lock(mutex_);
  while (open_ > 0) {
    const absl::Duration left = deadline - clock_.Now();
    if (left <= absl::ZeroDuration()) return false;
    answered_.WaitFor(mutex_, left);
  }
  return true;
}

// Called with the headers, with each part of the body, at its end, and again when resumed.
MHD_Result MicroHttpdEngine::OnRequest(void* self, MHD_Connection* connection, const char* path,
                                       const char* method, const char* /*version*/,
                                       const char* upload, size_t* upload_size, void** context) {
  MicroHttpdEngine& engine = *static_cast<MicroHttpdEngine*>(self);
  if (*context == nullptr) {
    *context = new Exchange;
    MutexLock lock(engine.mutex_);
    ++engine.open_;
    return MHD_YES;
  }
  Exchange& exchange = *static_cast<Exchange*>(*context);
  if (*upload_size == 0) return engine.Answer(connection, exchange, method, path);
  exchange.too_large |= exchange.body.size() + *upload_size > kLargestBody;
  if (!exchange.too_large) exchange.body.append(upload, *upload_size);
  *upload_size = 0;
  return MHD_YES;
}

void MicroHttpdEngine::OnCompleted(void* self, MHD_Connection* /*connection*/, void** context,
                                   MHD_RequestTerminationCode /*why*/) {
  if (*context == nullptr) return;
  delete static_cast<Exchange*>(*context);
  *context = nullptr;
  MicroHttpdEngine& engine = *static_cast<MicroHttpdEngine*>(self);
  MutexLock lock(engine.mutex_);
  if (--engine.open_ == 0) engine.answered_.NotifyAll();
}

MHD_Result MicroHttpdEngine::Answer(MHD_Connection* connection, Exchange& exchange,
                                    absl::string_view method, absl::string_view path) {
  if (exchange.held) {
    if (!exchange.refused.ok()) return Send(connection, ErrorOf(exchange.refused));
    return exchange.served ? Send(connection, Served(exchange)) : MHD_NO;  // closes the connection
  }
  if (Faulty(EngineFault::kHang)) return Hang(connection, exchange);
  if (Faulty(EngineFault::kError)) return Send(connection, ErrorOf(500, "injected: --fault"));
  const bool chat = path == "/v1/chat/completions";
  if (!chat && path != "/v1/completions") {
    if (method == "GET" || method == "HEAD") return Send(connection, PageAt(path));
    return Send(connection, ErrorOf(405, "Method Not Allowed"));
  }
  if (method != "POST") return Send(connection, ErrorOf(405, "Method Not Allowed"));
  if (exchange.too_large) return Send(connection, ErrorOf(413, "at most 1 MiB"));
  if (stopping_) return Send(connection, ErrorOf(503, "the server stops"));
  return Complete(connection, exchange, chat);
}

MHD_Result MicroHttpdEngine::Complete(MHD_Connection* connection, Exchange& exchange, bool chat) {
  const auto request = ParseCompletion(exchange.body, chat, options_.model);
  if (!request.ok()) return Send(connection, ErrorOf(request.status()));
  if (Faulty(EngineFault::kCrash)) options_.crash();
  ++accepted_;
  exchange.request = *request;
  exchange.created = clock_.Now();
  exchange.body.clear();
  exchange.held = true;
  // Suspends first: the request may be served before Submit() returns.
  MHD_suspend_connection(connection);
  const auto id =
      engine_.Submit(request->work, SocketOf(connection), [connection, &exchange](bool served) {
        exchange.served = served;
        MHD_resume_connection(connection);
      });
  if (id.ok()) {
    exchange.id = *id;
  } else {
    exchange.refused = id.status();
    MHD_resume_connection(connection);
  }
  return MHD_YES;
}

MHD_Result MicroHttpdEngine::Hang(MHD_Connection* connection, Exchange& exchange) {
  exchange.held = true;
  MHD_suspend_connection(connection);
  engine_.Hang(SocketOf(connection),
               [connection](bool /*served*/) { MHD_resume_connection(connection); });
  return MHD_YES;
}

EngineReply MicroHttpdEngine::Served(const Exchange& exchange) const {
  EngineReply reply;
  if (exchange.request.stream) reply.content_type = "text/event-stream";
  reply.body = CompletionReply(exchange.request, options_.model, exchange.id, exchange.created);
  return reply;
}

EngineReply MicroHttpdEngine::PageAt(absl::string_view path) const {
  if (path == "/metrics") return MetricsEndpoint();
  if (path == "/health") return {};
  if (path == "/v1/models") return {.body = ModelsReply(options_.model, started_at_)};
  if (path == "/version") return {.body = R"({"version":"stand-in"})"};
  return ErrorOf(404,
                 absl::StrCat("no ", path, "; there are /v1/completions, ",
                              "/v1/chat/completions, /v1/models, /health, /version, /metrics"));
}

EngineReply MicroHttpdEngine::MetricsEndpoint() const {
  EngineReply reply = {.content_type = "text/plain; version=0.0.4; charset=utf-8"};
  if (Faulty(EngineFault::kRedirect)) {
    reply.status = 302;
    reply.location = "http://169.254.169.254/latest/meta-data/";
  } else if (Faulty(EngineFault::kEndless)) {
    reply.endless = true;
  } else if (Faulty(options_.fault) && !faulty_page_.empty()) {
    reply.body = faulty_page_;
  } else {
    reply.body = VllmExposition(options_.model, engine_.Gauges(), engine_.Totals());
  }
  return reply;
}

MHD_Result MicroHttpdEngine::Send(MHD_Connection* connection, const EngineReply& reply) const {
  MHD_Response* const response =
      reply.endless
          ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kEndlessBlockBytes, &WriteEndless,
                                              nullptr, nullptr)
          : MHD_create_response_from_buffer(reply.body.size(), const_cast<char*>(reply.body.data()),
                                            MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply.content_type.c_str());
  if (!reply.location.empty()) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, reply.location.c_str());
  }
  if (stopping_) MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  const MHD_Result queued =
      MHD_queue_response(connection, static_cast<unsigned>(reply.status), response);
  MHD_destroy_response(response);
  return queued;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EngineServer>> EngineServer::Start(EngineServerOptions options,
                                                                  BoundPort port,
                                                                  const Clock& clock) {
  ASSIGN_OR_RETURN(const int listening, std::move(port).Listen());
  auto server = std::make_unique<MicroHttpdEngine>(std::move(options), clock);
  RETURN_IF_ERROR(server->Serve(listening));
  return server;
}

}  // namespace gpuscaler
