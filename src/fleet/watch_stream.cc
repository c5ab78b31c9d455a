#include "fleet/watch_stream.h"

#include <utility>

#include "base/log.h"
#include "base/printable_text.h"
#include "fleet/gpu_wire.h"

namespace gpuscaler {

namespace wire = telemetry::v1;

WatchStream::WatchStream(WatchStreamContext& context, std::shared_ptr<ServerCall> call,
                         std::string trouble, Closed closed)
    : OneWriteStream(std::move(call), std::move(closed)),
      context_(context),
      trouble_(std::move(trouble)) {}

void WatchStream::Refresh(const std::string& trouble) {
  MutexLock lock(mutex_);
  trouble_ = trouble;
  WriteNext();
}

absl::Status WatchStream::Take(const wire::Subscription& wanted) {
  if (!cursor_) {
    cursor_ = {.history = absl::Seconds(wanted.history_seconds())};
    if (const auto dropped = context_.lines.Pass()) {
      LogInfo("telemetry_reader", {{"peer", peer()},
                                   {"reader", PrintableText(wanted.reader(), kLongestReader)},
                                   {"history_seconds", wanted.history_seconds()},
                                   {"dropped", *dropped}});
    }
  }
  context_.wanted(wanted, *this);
  return absl::OkStatus();
}

bool WatchStream::Compose(wire::Telemetry& message) {
  if (!cursor_) return false;
  const bool has_new = context_.log.AppendNew(*cursor_, message);
  const absl::Time now = context_.clock.Now();  // not before any reading in the message
  const bool due = now - sent_at_ >= context_.heartbeat || trouble_ != logged_trouble_;
  if (!has_new && !due) return false;
  message.set_sent_us(ToWire(now));
  message.set_trouble(trouble_);
  logged_trouble_ = trouble_;
  sent_at_ = now;
  ++context_.messages;
  if (message.readings_size() == 0) ++context_.heartbeats;
  context_.bytes += static_cast<int64_t>(message.ByteSizeLong());
  return true;
}

}  // namespace gpuscaler
