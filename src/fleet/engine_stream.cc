#include "fleet/engine_stream.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "fleet/engine_wire.h"
#include "fleet/wire_text.h"
#include "model/pod.h"
#include "store/leases.h"

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

EngineStream::EngineStream(ReaderContext& context, std::shared_ptr<ServerCall> call, Closed closed,
                           EngineLog* log, const TelemetryLog& telemetry)
    : ReaderStream(context, std::move(call), std::move(closed)), log_(log), telemetry_(telemetry) {}

absl::Status EngineStream::Take(const wire::EngineSubscription& wanted) {
  RETURN_IF_ERROR(BoundSubscription(wanted));
  subscription_ = DecodeSubscription(wanted);
  const absl::Duration lease =
      std::min<absl::Duration>(absl::Seconds(wanted.lease_seconds()), kLongestLease);
  log_->Subscribe(subscription_, context_.clock.Now() + lease);
  return absl::OkStatus();
}

void EngineStream::LogReader(const wire::EngineSubscription& first, int64_t dropped) const {
  LogInfo("engine_reader", {{"peer", peer()},
                            {"reader", PrintableText(first.reader(), kLongestReader)},
                            {"dropped", dropped}});
}

bool EngineStream::Compose(wire::EngineTelemetry& message) {
  if (!has_sent()) {
    *message.mutable_node() = telemetry_.node();
    if (message.node().name().empty()) return false;  // its GPUs have no reading yet
  }
  return Complete(log_->AppendNew(subscription_, cursor_, message), message);
}

}  // namespace gpuscaler
