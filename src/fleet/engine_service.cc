#include "fleet/engine_service.h"

#include <utility>

#include "absl/status/status.h"

namespace gpuscaler {
namespace {

// How late a heartbeat may be noticed.
constexpr absl::Duration kHeartbeatCheckInterval = absl::Milliseconds(200);

// Readings of one instant go into one message.
constexpr absl::Duration kBatchWindow = absl::Milliseconds(10);

}  // namespace

EngineService::EngineService(const EngineServiceOptions& options, const Clock& clock,
                             EngineLog* log)
    : empty_log_({}, clock, nullptr),
      is_enabled_(log != nullptr),
      context_{.clock = clock,
               .log = is_enabled_ ? *log : empty_log_,
               .heartbeat = options.heartbeat,
               .self = options.self},
      streams_(options.max_readers, options.aggregators) {
  if (is_enabled_)
    thread_ = std::make_unique<PeriodicThread>("engine-news", kBatchWindow, [this] { Tick(); });
}

EngineService::~EngineService() {
  StopStreams();
  thread_ = nullptr;
  streams_.Wait();
}

void EngineService::Tick() {
  generation_ = context_.log.WaitForUpdate(generation_, kHeartbeatCheckInterval);
  for (const auto& stream : streams_.Readers()) stream->Refresh();
}

std::shared_ptr<ServerCall::Handler> EngineService::Watch(const std::shared_ptr<ServerCall>& call) {
  const absl::Status refusal =
      is_enabled_ ? absl::OkStatus()
                  : absl::FailedPreconditionError(
                        "its agent looks for no engines (--discover-engines=false)");
  return streams_.Open(std::make_shared<EngineStream>(
                           context_, call, [this](const auto* ended) { streams_.Closed(ended); }),
                       refusal);
}

void EngineService::StopStreams() {
  streams_.Stop();
  context_.log.WakeWaiters();
}

EngineService::Counts EngineService::counts() const {
  return {.readers = streams_.counts().open,
          .messages = context_.messages,
          .readings = context_.readings,
          .bytes = context_.bytes};
}

}  // namespace gpuscaler
