#include "fleet/agent_engines.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/jitter.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "fleet/engine_wire.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// Subscriptions are sent this often, with a lease three times as long: a restarted aggregator finds
// that its agents have kept reading.
constexpr absl::Duration kRenewEvery = absl::Seconds(30);
constexpr absl::Duration kEnginesLease = absl::Seconds(90);

// The delay for an agent without discovery, which may be replaced by another one. At least this,
// and up to half as much again, so that a fleet does not reconnect at one instant.
constexpr absl::Duration kUnsupportedRetryDelay = absl::Minutes(1);

// An error is permanent if a retry cannot help. Empty: retry soon.
std::optional<absl::Status> PermanentError(const absl::Status& end) {
  if (absl::IsUnimplemented(end)) {
    return absl::FailedPreconditionError("its agent is of a version that finds no engines");
  }
  if (absl::IsFailedPrecondition(end)) return end;
  return std::nullopt;
}

}  // namespace

AgentEngines::AgentEngines(const AgentStreamOptions& options, std::string address,
                           const std::string& node, const Clock& clock, EventLoop& loop,
                           FoundEngines& found)
    : options_(options),
      address_(std::move(address)),
      node_(node),
      clock_(clock),
      loop_(loop),
      found_(found),
      reader_(node, found),
      calls_(clock, options.idle_timeout) {}

AgentEngines::~AgentEngines() = default;

void AgentEngines::Subscribe(std::shared_ptr<const EngineSubscription> wanted) {
  const absl::Time now = clock_.Now();
  wire::EngineSubscription message;
  {
    MutexLock lock(mutex_);
    const bool is_same =
        subscription_ == wanted || (subscription_ != nullptr && *subscription_ == *wanted);
    if (is_same && now - subscribed_at_ < kRenewEvery) return;
    if (!sent_.Take(now)) return;  // far below kMessagesPerSecond of the agent
    subscription_ = std::move(wanted);
    subscribed_at_ = now;
    message = Subscription();
  }
  calls_.Send(message);
}

wire::EngineSubscription AgentEngines::Subscription() const {
  const absl::Duration lease =
      std::max(subscribed_at_ + kEnginesLease - clock_.Now(), absl::ZeroDuration());
  wire::EngineSubscription message = EncodeSubscription(*subscription_, lease);
  message.set_reader(options_.reader);
  return message;
}

void AgentEngines::Tick() {
  calls_.Tick([this] { return NextCall(); });
}

std::unique_ptr<WatchEnginesCall> AgentEngines::NextCall() {
  MutexLock lock(mutex_);
  if (subscribed_at_ + kEnginesLease <= clock_.Now()) return nullptr;
  reader_.Begin();
  auto call = std::make_unique<WatchEnginesCall>(
      loop_, options_.connection, address_, "/gpuscaler.telemetry.v1.NodeTelemetry/WatchEngines",
      *this);
  call->Begin(Subscription());
  return call;
}

absl::Status AgentEngines::Take(wire::EngineTelemetry& message) {
  const absl::Time now = clock_.Now();
  calls_.Count(message);
  RETURN_IF_ERROR(reader_.Read(message, now));
  calls_.Received(now);
  MutexLock lock(mutex_);
  logged_.clear();
  return absl::OkStatus();
}

void AgentEngines::Ended(const CallEnd& end, const absl::Status& fault) {
  calls_.Ended(fault.ok() ? end.status : fault, [this](const absl::Status& why) { Lost(why); });
}

void AgentEngines::Lost(const absl::Status& why) {
  if (const auto permanent = PermanentError(why)) {
    calls_.Pause(kUnsupportedRetryDelay * Jitter(1.0, 1.5));
    found_.SetEngines(node_, *permanent, clock_.Now());
  }
  Log(why);
}

// Once per reason until the agent reports again.
void AgentEngines::Log(const absl::Status& why) {
  {
    MutexLock lock(mutex_);
    if (logged_ == why.message()) return;
    logged_ = std::string(why.message());
  }
  LogWarn("engines_unavailable", {{"node", node_}, {"address", address_}, {"why", why.message()}});
}

bool AgentEngines::is_open() const {
  const auto call = calls_.under_way();
  return call && call->has_received;
}

}  // namespace gpuscaler
