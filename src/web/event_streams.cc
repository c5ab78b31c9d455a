#include "web/event_streams.h"

#include <microhttpd.h>
#include <poll.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace gpuscaler {
namespace {

constexpr size_t kReadBytes = 8 * 1024;  // the library's read size

const std::shared_ptr<const std::string>& KeepAlive() {
  static const auto* const text =
      new std::shared_ptr<const std::string>(std::make_shared<std::string>(": keepalive\n\n"));
  return *text;
}

// The library does not watch a suspended connection.
bool HasClosed(int socket) {
  pollfd polled = {.fd = socket, .events = POLLRDHUP, .revents = 0};
  return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace

EventStreams::EventStreams(const EventStreamsOptions& options, NextBatch next)
    : options_(options),
      next_(std::move(next)),
      thread_("web events", options.tick, [this] { Tick(); }) {}

EventStreams::~EventStreams() = default;

MHD_Response* EventStreams::Open(MHD_Connection* connection) {
  MutexLock lock(mutex_);
  if (ending_ || open_.size() >= static_cast<size_t>(options_.most)) return nullptr;
  auto opened = std::make_unique<Stream>();
  Stream* const stream = opened.get();
  stream->streams = this;
  stream->connection = connection;
  stream->socket =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
  MHD_Response* const response =
      MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kReadBytes, Read, stream, Close);
  if (response == nullptr) return nullptr;
  stream->self = open_.insert(open_.end(), std::move(opened));
  thread_.Wake();
  return response;
}

int EventStreams::open() const {
  MutexLock lock(mutex_);
  return static_cast<int>(open_.size());
}

ssize_t EventStreams::Read(void* self, uint64_t /*position*/, char* buffer, size_t size) {
  Stream& stream = *static_cast<Stream*>(self);
  EventStreams& streams = *stream.streams;
  MutexLock lock(streams.mutex_);
  if (stream.unsent != nullptr) {
    const size_t bytes = std::min(size, stream.unsent->size() - stream.sent);
    std::copy_n(stream.unsent->data() + stream.sent, bytes, buffer);
    stream.sent += bytes;
    if (stream.sent == stream.unsent->size()) stream.unsent = nullptr;
    stream.written_at = streams.clock_.Now();
    return static_cast<ssize_t>(bytes);
  }
  if (stream.has_ended || streams.ending_) return MHD_CONTENT_READER_END_OF_STREAM;
  stream.is_suspended = true;
  MHD_suspend_connection(stream.connection);
  return 0;
}

void EventStreams::Close(void* self) {
  const Stream& stream = *static_cast<Stream*>(self);
  EventStreams& streams = *stream.streams;
  MutexLock lock(streams.mutex_);
  streams.open_.erase(stream.self);
}

void EventStreams::Resume(Stream& stream) {
  if (!std::exchange(stream.is_suspended, false)) return;
  MHD_resume_connection(stream.connection);
}

// A stream is only written to while it is suspended, so that the library's thread reads no other
// part of it. It may be gone whenever the lock is not held.
void EventStreams::Tick() {
  const absl::Time now = clock_.Now();
  std::vector<int64_t> due;  // versions
  {
    MutexLock lock(mutex_);
    for (const auto& stream : open_) {
      if (!stream->is_suspended) continue;
      stream->has_ended = HasClosed(stream->socket);
      if (stream->has_ended)
        Resume(*stream);
      else if (now - stream->batch_at >= options_.least_interval)
        due.push_back(stream->version);
    }
  }
  std::ranges::sort(due);
  due.erase(std::unique(due.begin(), due.end()), due.end());
  for (const int64_t version : due) {
    const EventBatch batch = next_(version);
    MutexLock lock(mutex_);
    for (const auto& stream : open_) {
      const bool is_due = stream->is_suspended && stream->version == version &&
                          now - stream->batch_at >= options_.least_interval;
      if (!is_due || batch.text == nullptr) continue;
      stream->version = batch.version;
      stream->unsent = batch.text;
      stream->sent = 0;
      stream->batch_at = now;
      Resume(*stream);
    }
  }
  MutexLock lock(mutex_);
  for (const auto& stream : open_) {
    if (!stream->is_suspended || now - stream->written_at < options_.keep_alive) continue;
    stream->unsent = KeepAlive();
    stream->sent = 0;
    Resume(*stream);
  }
}

void EventStreams::End() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    for (const auto& stream : open_) Resume(*stream);
  }
  thread_.Stop(absl::InfiniteDuration());
}

}  // namespace gpuscaler
