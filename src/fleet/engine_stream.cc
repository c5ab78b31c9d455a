#include "fleet/engine_stream.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "fleet/engine_wire.h"
#include "fleet/wire_text.h"
#include "model/leases.h"
#include "model/pod.h"

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
                           EngineLog* log, const TelemetryLog& telemetry, RankOf rank_of)
    : ReaderStream(context, std::move(call), std::move(closed)),
      log_(log),
      telemetry_(telemetry),
      rank_of_(std::move(rank_of)) {}

absl::Status EngineStream::Take(const wire::EngineSubscription& wanted) {
  RETURN_IF_ERROR(BoundSubscription(wanted));
  cursor_.SetSubscription(DecodeSubscription(wanted));
  const absl::Duration lease =
      std::min<absl::Duration>(absl::Seconds(wanted.lease_seconds()), kLongestLease);
  const auto stranger = rank_of_(*this) > 0 ? std::nullopt : std::make_optional(peer());
  const size_t refused =
      log_->Subscribe(cursor_.subscription, context_.clock.Now() + lease, stranger);
  if (refused > 0) {
    LogRefusal(absl::StrCat(refused, " namespaces: the agent keeps ", 2 * kMaxNamespacesSubscribed,
                            ", ", kMaxNamespacesSubscribed,
                            " of them for readers that are no aggregators, where one address has "
                            "at most half of what the others leave"));
  }
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
  return Complete(log_->AppendNew(cursor_, message), message);
}

}  // namespace gpuscaler
