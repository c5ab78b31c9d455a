#include "fleet/agent_stream.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/status_macros.h"
#include "fleet/agent_stream_error.h"
#include "fleet/telemetry_wire.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// A broken sensor may send an implausible value with every reading.
constexpr absl::Duration kImplausibleLogInterval = absl::Minutes(10);

// Each request for a reading that is not there yet renews the subscription.
constexpr absl::Duration kShortestRenewal = absl::Seconds(10);

// An agent without a message by then may be gone, and must not hold up others.
constexpr absl::Duration kFirstMessageWithin = absl::Seconds(2);

}  // namespace

AgentStream::AgentStream(const AgentStreamOptions& options, std::string address, const Clock& clock,
                         EventLoop& loop, AgentListener& listener)
    : options_(options),
      address_(std::move(address)),
      clock_(clock),
      loop_(loop),
      listener_(listener),
      implausible_log_(clock, 1, kImplausibleLogInterval),
      calls_(clock, options.idle_timeout) {}

AgentStream::~AgentStream() = default;

bool AgentStream::IsCatchingUp() const {
  const auto call = calls_.under_way();
  if (!call) return false;
  MutexLock lock(mutex_);
  return !caught_up_ &&
         (call->has_received || clock_.Now() - call->began_at <= kFirstMessageWithin);
}

bool AgentStream::Tick(bool may_begin) {
  return calls_.Tick([&] { return may_begin ? NextCall() : nullptr; });
}

std::unique_ptr<WatchCall> AgentStream::NextCall() {
  reader_.Begin();
  auto call = std::make_unique<WatchCall>(loop_, options_.connection, address_,
                                          "/gpuscaler.telemetry.v1.NodeTelemetry/Watch", *this);
  MutexLock lock(mutex_);
  caught_up_ = has_sent_former_pods_ = false;
  call->Begin(FirstSubscription());
  return call;
}

wire::Subscription AgentStream::FirstSubscription() {
  const absl::Time now = clock_.Now();
  // A little more than was missed: a repeated reading is ignored.
  const absl::Duration missed = now - newest_ + absl::Seconds(1);
  wire::Subscription wanted;
  wanted.set_history_seconds(static_cast<uint32_t>(
      absl::ToInt64Seconds(absl::Ceil(std::min(missed, options_.history), absl::Seconds(1)))));
  wanted.set_reader(options_.reader);
  wanted.mutable_namespaces()->Assign(options_.namespaces.begin(), options_.namespaces.end());
  if (subscribed_until_ > now) {
    wanted.set_pcie(subscription_.pcie);
    wanted.set_activity(subscription_.activity);
    wanted.set_lease_seconds(static_cast<uint32_t>(absl::ToInt64Seconds(subscribed_until_ - now)));
  }
  return wanted;
}

void AgentStream::Replay() {
  calls_.Restart();
  reader_.BeginReplay();
  MutexLock lock(mutex_);
  newest_ = absl::InfinitePast();
}

void AgentStream::Subscribe(const CostlyReadings& wanted, absl::Duration lease) {
  wire::Subscription message;
  message.set_pcie(wanted.pcie);
  message.set_activity(wanted.activity);
  message.set_lease_seconds(static_cast<uint32_t>(absl::ToInt64Seconds(lease)));
  {
    MutexLock lock(mutex_);
    const absl::Time until = clock_.Now() + lease;
    if (wanted == subscription_ && until - subscribed_until_ < kShortestRenewal) return;
    subscription_ = wanted;
    subscribed_until_ = until;
  }
  calls_.Send(message);
}

void AgentStream::SendFormerPods(const std::vector<Pod>& pods) {
  wire::Subscription message;
  message.set_sent_us(ToWire(clock_.Now()));
  for (const Pod& pod : pods) {
    if (!pod.owner_listed_since) continue;
    EncodePod({.namespace_name = pod.namespace_name,
               .name = pod.name,
               .owners = pod.owners,
               .owner_listed_since = pod.owner_listed_since},
              *message.add_former_pods());
  }
  if (message.former_pods().empty()) return;
  {
    MutexLock lock(mutex_);
    if (std::exchange(has_sent_former_pods_, true)) return;
  }
  calls_.SendAlways(message);
}

absl::Status AgentStream::Take(wire::Telemetry& message) {
  calls_.Count(message);
  RETURN_IF_ERROR(reader_.Take(std::move(message), clock_.Now()));
  return Continue();
}

absl::Status AgentStream::Continue() {
  return reader_.Continue([this](AgentUpdate update) { Deliver(std::move(update)); });
}

void AgentStream::Deliver(AgentUpdate update) {
  if (!update.implausible.empty()) LogImplausible(update);
  calls_.Received(clock_.Now());
  {
    MutexLock lock(mutex_);
    caught_up_ = !update.more;
    if (!update.readings.empty()) newest_ = update.readings.back().snapshot.taken_at;
    if (update.newest_confirmed_at) newest_ = *update.newest_confirmed_at;
  }
  listener_.Received(address_, std::move(update));
}

void AgentStream::LogImplausible(const AgentUpdate& update) {
  const auto dropped = implausible_log_.Pass();
  if (!dropped) return;
  LogWarn("reading_implausible", {{"address", address_},
                                  {"node", update.node},
                                  {"what", update.implausible},
                                  {"dropped", *dropped}});
}

void AgentStream::Ended(const CallEnd& end, const absl::Status& fault) {
  calls_.Ended(fault.ok() ? AgentStreamError(end) : fault,
               [this](const absl::Status& why) { listener_.Lost(address_, why); });
}

}  // namespace gpuscaler
