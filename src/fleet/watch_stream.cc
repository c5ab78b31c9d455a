#include "fleet/watch_stream.h"

#include <utility>

#include "base/log.h"
#include "base/printable_text.h"

namespace gpuscaler {

namespace wire = telemetry::v1;

WatchStream::WatchStream(ReaderContext& context, std::shared_ptr<ServerCall> call, Closed closed,
                         const TelemetryLog& log, Subscribed subscribed)
    : ReaderStream(context, std::move(call), std::move(closed)),
      log_(log),
      subscribed_(std::move(subscribed)) {}

absl::Status WatchStream::Take(const wire::Subscription& wanted) {
  if (!is_subscribed()) cursor_.history = absl::Seconds(wanted.history_seconds());
  subscribed_(wanted, *this);
  return absl::OkStatus();
}

void WatchStream::LogReader(const wire::Subscription& first, int64_t dropped) const {
  LogInfo("telemetry_reader", {{"peer", peer()},
                               {"reader", PrintableText(first.reader(), kLongestReader)},
                               {"history_seconds", first.history_seconds()},
                               {"dropped", dropped}});
}

bool WatchStream::Compose(wire::Telemetry& message) {
  return Complete(log_.AppendNew(cursor_, message), message);
}

}  // namespace gpuscaler
