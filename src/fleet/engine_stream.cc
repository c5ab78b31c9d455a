#include "fleet/engine_stream.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/plain_words.h"
#include "base/status_macros.h"
#include "fleet/engine_subscriptions.h"
#include "fleet/engine_wire.h"
#include "fleet/gpu_wire.h"
#include "fleet/wire_text.h"
#include "model/pod.h"
#include "store/lease_bounds.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

absl::Status BoundWanted(const wire::EngineSubscription& wanted) {
  RETURN_IF_ERROR(
      Counted("namespaces wanted", wanted.namespaces_size(), int{kMostNamespacesSubscribed}));
  for (const wire::EnginesOfNamespace& of : wanted.namespaces()) {
    RETURN_IF_ERROR(Named("a namespace's name", of.name(), kLongestLabel));
  }
  return absl::OkStatus();
}

}  // namespace

EngineStream::EngineStream(EngineRoom& room, std::shared_ptr<ServerCall> call, Closed closed)
    : OneWriteStream(std::move(call), std::move(closed)), room_(room) {}

void EngineStream::Refresh() {
  MutexLock lock(mutex_);
  WriteNext();
}

absl::Status EngineStream::Take(const wire::EngineSubscription& wanted) {
  RETURN_IF_ERROR(BoundWanted(wanted));
  if (!wanted_) LogReader(wanted.reader());
  wanted_ = DecodeSubscription(wanted);
  const absl::Duration lease =
      std::min<absl::Duration>(absl::Seconds(wanted.lease_seconds()), kLongestLease);
  room_.log.Want(*wanted_, room_.clock.Now() + lease);
  return absl::OkStatus();
}

void EngineStream::LogReader(const std::string& name) {
  const auto dropped = room_.lines.Pass();
  if (!dropped) return;
  LogInfo("engine_reader",
          {{"peer", peer()}, {"reader", PlainWords(name, kLongestReader)}, {"dropped", *dropped}});
}

bool EngineStream::Compose(wire::EngineTelemetry& message) {
  if (!wanted_) return false;
  if (spoke_at_ == absl::InfinitePast()) {
    *message.mutable_node() = room_.self();
    if (message.node().name().empty()) return false;  // its GPUs were not read yet
  }
  const bool update = room_.log.Tell(*wanted_, place_, message);
  const absl::Time now = room_.clock.Now();  // behind every reading that is told
  if (!update && now - spoke_at_ < room_.heartbeat) return false;
  message.set_sent_us(ToWire(now));
  spoke_at_ = now;
  ++room_.messages;
  room_.readings += message.readings_size();
  room_.bytes += static_cast<int64_t>(message.ByteSizeLong());
  return true;
}

}  // namespace gpuscaler
