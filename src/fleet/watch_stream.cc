#include "fleet/watch_stream.h"

#include <utility>

#include "base/log.h"
#include "fleet/gpu_wire.h"
#include "fleet/grpc_status.h"

namespace gpuscaler {

namespace wire = telemetry::v1;

WatchStream::WatchStream(WatchRoom& room, std::string peer, std::string trouble,
                         std::function<void(const WatchStream*)> closed)
    : room_(room),
      peer_(std::move(peer)),
      closed_(std::move(closed)),
      trouble_(std::move(trouble)) {}

void WatchStream::Refresh(const std::string& trouble) {
  MutexLock lock(mutex_);
  trouble_ = trouble;
  if (!writing_) WriteNext();
}

void WatchStream::End(const absl::Status& status) {
  MutexLock lock(mutex_);
  EndLocked(status);
}

void WatchStream::EndLocked(const absl::Status& status) {
  if (!end_) end_ = status;
  if (!writing_) FinishNow();
}

void WatchStream::OnReadDone(bool ok) {
  MutexLock lock(mutex_);
  if (!ok) return EndLocked(absl::OkStatus());
  Take(incoming_);
  if (!finished_) StartRead(&incoming_);
  if (!writing_) WriteNext();
}

void WatchStream::Take(const wire::Wanted& wanted) {
  if (!place_) {
    place_ = {.history = absl::Seconds(wanted.history_seconds())};
    LogInfo("telemetry_reader", {{"peer", peer_},
                                 {"reader", wanted.reader()},
                                 {"history_seconds", wanted.history_seconds()}});
  }
  room_.wanted(wanted);
}

void WatchStream::WriteNext() {
  if (!place_ || end_ || finished_) return;
  // Protobuf keeps what a message was made of for the next one: that of the past is large.
  if (in_flight_.readings_size() > 1) in_flight_ = wire::Telemetry();
  in_flight_.Clear();
  const bool news = room_.log.Take(*place_, in_flight_);
  const absl::Time now = room_.clock.Now();  // behind every reading that is told
  const bool due = now - spoke_at_ >= room_.heartbeat || trouble_ != said_trouble_;
  if (!news && !due) return;
  in_flight_.set_sent_us(ToWire(now));
  in_flight_.set_trouble(trouble_);
  said_trouble_ = trouble_;
  spoke_at_ = now;
  writing_ = true;
  ++room_.messages;
  if (in_flight_.readings_size() == 0) ++room_.heartbeats;
  room_.bytes += static_cast<int64_t>(in_flight_.ByteSizeLong());
  StartWrite(&in_flight_);
}

void WatchStream::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = false;
  if (!ok && !end_) end_ = absl::CancelledError("the reader is gone");
  if (end_) return FinishNow();
  WriteNext();
}

void WatchStream::OnCancel() {
  MutexLock lock(mutex_);
  if (!end_) end_ = absl::CancelledError("the reader is gone");
  FinishNow();
}

void WatchStream::OnDone() {
  {
    MutexLock lock(mutex_);  // gRPC calls it last, by means that ThreadSanitizer does not see
  }
  closed_(this);
}

void WatchStream::FinishNow() {
  if (finished_) return;
  finished_ = true;
  Finish(ToGrpc(*end_));
}

}  // namespace gpuscaler
