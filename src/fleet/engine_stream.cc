#include "fleet/engine_stream.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "fleet/engine_wire.h"
#include "fleet/gpu_wire.h"
#include "fleet/wire_text.h"
#include "model/pod.h"
#include "store/lease_bounds.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

absl::Status BoundSubscription(const wire::EngineSubscription& wanted) {
  RETURN_IF_ERROR(
      CheckCount("subscribed namespaces", wanted.namespaces_size(), int{kMaxNamespacesSubscribed}));
  for (const wire::EnginesOfNamespace& of : wanted.namespaces()) {
    RETURN_IF_ERROR(CheckName("a namespace's name", of.name(), kLongestLabel));
  }
  return absl::OkStatus();
}

}  // namespace

EngineStream::EngineStream(EngineStreamContext& context, std::shared_ptr<ServerCall> call,
                           Closed closed)
    : OneWriteStream(std::move(call), std::move(closed)), context_(context) {}

void EngineStream::Refresh() {
  MutexLock lock(mutex_);
  WriteNext();
}

absl::Status EngineStream::Take(const wire::EngineSubscription& wanted) {
  RETURN_IF_ERROR(BoundSubscription(wanted));
  if (!subscription_) LogReader(wanted.reader());
  subscription_ = DecodeSubscription(wanted);
  const absl::Duration lease =
      std::min<absl::Duration>(absl::Seconds(wanted.lease_seconds()), kLongestLease);
  context_.log.Subscribe(*subscription_, context_.clock.Now() + lease);
  return absl::OkStatus();
}

void EngineStream::LogReader(const std::string& name) {
  const auto dropped = context_.lines.Pass();
  if (!dropped) return;
  LogInfo(
      "engine_reader",
      {{"peer", peer()}, {"reader", PrintableText(name, kLongestReader)}, {"dropped", *dropped}});
}

bool EngineStream::Compose(wire::EngineTelemetry& message) {
  if (!subscription_) return false;
  if (sent_at_ == absl::InfinitePast()) {
    *message.mutable_node() = context_.self();
    if (message.node().name().empty()) return false;  // its GPUs have no reading yet
  }
  const bool has_new = context_.log.AppendNew(*subscription_, cursor_, message);
  const absl::Time now = context_.clock.Now();  // not before any reading in the message
  if (!has_new && now - sent_at_ < context_.heartbeat) return false;
  message.set_sent_us(ToWire(now));
  sent_at_ = now;
  ++context_.messages;
  context_.readings += message.readings_size();
  context_.bytes += static_cast<int64_t>(message.ByteSizeLong());
  return true;
}

}  // namespace gpuscaler
