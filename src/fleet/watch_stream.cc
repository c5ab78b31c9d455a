#include "fleet/watch_stream.h"

#include <utility>

#include "base/log.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "fleet/engine_log.h"
#include "fleet/wire_text.h"

namespace gpuscaler {

namespace wire = telemetry::v1;

WatchStream::WatchStream(ReaderContext& context, std::shared_ptr<ServerCall> call, Closed closed,
                         const TelemetryLog& log, FindLog find_log, Subscribed subscribed)
    : ReaderStream(context, std::move(call), std::move(closed)),
      log_(log),
      find_log_(std::move(find_log)),
      subscribed_(std::move(subscribed)) {}

absl::Status WatchStream::Take(const wire::Subscription& wanted) {
  if (!is_subscribed()) {
    RETURN_IF_ERROR(CheckCount("subscribed namespaces", wanted.namespaces_size(),
                               int{kMaxNamespacesSubscribed}));
    if (!wanted.namespaces().empty()) {
      ASSIGN_OR_RETURN(filtered_log_,
                       find_log_({wanted.namespaces().begin(), wanted.namespaces().end()}, *this));
    }
    cursor_.history = absl::Seconds(wanted.history_seconds());
  }
  subscribed_(wanted, *this);
  return absl::OkStatus();
}

void WatchStream::LogReader(const wire::Subscription& first, int64_t dropped) const {
  LogInfo("telemetry_reader", {{"peer", peer()},
                               {"reader", PrintableText(first.reader(), kLongestReader)},
                               {"history_seconds", first.history_seconds()},
                               {"namespaces", first.namespaces_size()},
                               {"dropped", dropped}});
}

bool WatchStream::Compose(wire::Telemetry& message) {
  const TelemetryLog& log = filtered_log_ == nullptr ? log_ : *filtered_log_;
  if (!log.HasPast()) return false;
  return Complete(log.AppendNew(cursor_, message), message);
}

}  // namespace gpuscaler
