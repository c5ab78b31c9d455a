// Streams of server-sent events (WHATWG HTML, section 9.2): a bounded number of clients, each of
// which reads as fast as it likes.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"

// libmicrohttpd's types.
struct MHD_Connection;
struct MHD_Response;

namespace gpuscaler {

// The events that a client lacks.
struct EventBatch {
  int64_t version = 0;                      // increases; the client has everything up to it
  std::shared_ptr<const std::string> text;  // may be shared by streams; null: no events
};

struct EventStreamsOptions {
  int most = 16;                                     // open streams
  absl::Duration least_interval = absl::Seconds(5);  // between two batches of one stream
  absl::Duration keep_alive = absl::Seconds(15);     // a comment follows a silence of this length
  absl::Duration tick = absl::Seconds(1);
};

// A stream holds one batch at a time, and gets the next one when it has sent that: a slow client
// misses no change, costs the memory of one batch, and delays no other. Thread-safe.
class EventStreams {
 public:
  // Called on the thread of the streams, only while there is one. `since` is the version that the
  // client has, 0 at first.
  using NextBatch = std::function<EventBatch(int64_t since)>;

  EventStreams(const EventStreamsOptions& options, NextBatch next);
  ~EventStreams();  // requires End(), and that the daemon of the connections is stopped

  // Returns a response with a new stream, or null if there are too many or End() was called. Must
  // be called on the daemon's thread. The caller queues and destroys the response.
  MHD_Response* Open(MHD_Connection* connection);

  int open() const;

  // Ends all streams and refuses new ones. Waits for a running NextBatch. Afterwards no connection
  // is suspended here.
  void End();

 private:
  struct Stream {
    EventStreams* streams = nullptr;
    MHD_Connection* connection = nullptr;
    int socket = -1;
    std::list<std::unique_ptr<Stream>>::iterator self;
    int64_t version = 0;
    std::shared_ptr<const std::string> unsent;  // null: nothing
    size_t sent = 0;                            // bytes of `unsent`
    absl::Time batch_at = absl::InfinitePast();
    absl::Time written_at = absl::InfinitePast();
    bool is_suspended = false;
    bool has_ended = false;
  };

  // Fills the library's buffer, or suspends the connection until there is more.
  static ssize_t Read(void* stream, uint64_t position, char* buffer, size_t size);
  static void Close(void* stream);

  void Tick();
  void Resume(Stream& stream) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const EventStreamsOptions options_;
  const NextBatch next_;
  const SteadyClock clock_;
  mutable Mutex mutex_;
  std::list<std::unique_ptr<Stream>> open_ ABSL_GUARDED_BY(mutex_);
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  PeriodicThread thread_;
};

}  // namespace gpuscaler
