#include "fleet/engine_service.h"

#include <utility>

#include "absl/status/status.h"

namespace gpuscaler {
namespace {

// How late a heartbeat may be noticed.
constexpr absl::Duration kLookForHeartbeats = absl::Milliseconds(200);

// Engines that are read in the same instant are told together.
constexpr absl::Duration kGather = absl::Milliseconds(10);

}  // namespace

EngineService::EngineService(const EngineServiceOptions& options, const Clock& clock,
                             EngineLog* log)
    : nothing_({}, clock, nullptr),
      looks_(log != nullptr),
      room_{.clock = clock,
            .log = looks_ ? *log : nothing_,
            .heartbeat = options.heartbeat,
            .self = options.self},
      streams_(options.max_readers, options.aggregators) {
  if (looks_)
    thread_ = std::make_unique<PeriodicThread>("engine-news", kGather, [this] { Tick(); });
}

EngineService::~EngineService() {
  StopStreams();
  thread_ = nullptr;
  streams_.Wait();
}

void EngineService::Tick() {
  reported_ = room_.log.WaitForUpdate(reported_, kLookForHeartbeats);
  for (const auto& stream : streams_.Readers()) stream->Refresh();
}

std::shared_ptr<ServerCall::Handler> EngineService::Watch(const std::shared_ptr<ServerCall>& call) {
  const absl::Status refusal =
      looks_ ? absl::OkStatus()
             : absl::FailedPreconditionError(
                   "its agent looks for no engines (--discover-engines=false)");
  return streams_.Open(std::make_shared<EngineStream>(
                           room_, call, [this](const auto* ended) { streams_.Closed(ended); }),
                       refusal);
}

void EngineService::StopStreams() {
  streams_.Stop();
  room_.log.Nudge();
}

EngineService::Counts EngineService::counts() const {
  return {.readers = streams_.counts().open,
          .messages = room_.messages,
          .readings = room_.readings,
          .bytes = room_.bytes};
}

}  // namespace gpuscaler
