#include "wire/server_call.h"

#include <list>
#include <utility>

#include "wire/event_loop.h"
#include "wire/message_reader.h"
#include "wire/server_stream.h"
#include "wire/unshared_status.h"

namespace gpuscaler {

void ServerCall::AddHeader(std::string name, std::string value) {
  MutexLock lock(mutex_);
  initial_.emplace(std::move(name), std::move(value));
}

void ServerCall::AddTrailer(std::string name, std::string value) {
  MutexLock lock(mutex_);
  trailing_.emplace(std::move(name), std::move(value));
}

void ServerCall::SendHeaders() {
  MutexLock lock(mutex_);
  if (!unread_bytes_.has_value()) return;
  sends_headers_ = true;
  Wake();
}

void ServerCall::WriteNewest(absl::string_view bytes) {
  Queue({Prefixed(bytes), /*is_replaceable=*/true});
}

void ServerCall::Write(absl::string_view bytes) {
  Queue({Prefixed(bytes), /*is_replaceable=*/false});
}

void ServerCall::Queue(Outgoing message) {
  MutexLock lock(mutex_);
  if (status_.has_value() || !unread_bytes_.has_value()) return;
  const bool replaces =
      message.is_replaceable && !outgoing_.empty() && outgoing_.back().is_replaceable;
  if (replaces) DropLast();
  if (unread_bytes_->Reserve(message.bytes.size())) {
    outgoing_.push_back(std::move(message));
    return Wake();
  }
  status_ = absl::ResourceExhaustedError("too many answers are not read; try again");
  loop_.Post([call = shared_from_this(), status = Unshared(*status_)] {
    if (call->stream_ != nullptr) call->stream_->FinishForUnreadLimit(status);
  });
}

void ServerCall::DropLast() {
  unread_bytes_->Release(outgoing_.back().bytes.size());
  outgoing_.pop_back();
}

void ServerCall::Finish(const absl::Status& status) {
  MutexLock lock(mutex_);
  if (status_.has_value()) return;
  status_ = Unshared(status);
  Wake();
}

void ServerCall::FinishNow(const absl::Status& status) {
  MutexLock lock(mutex_);
  if (!unread_bytes_.has_value()) return;
  loop_.Post([call = shared_from_this(), status = Unshared(status)] {
    if (call->stream_ != nullptr) call->stream_->FinishNow(status);
  });
}

bool ServerCall::is_finished() const {
  MutexLock lock(mutex_);
  return status_.has_value();
}

void ServerCall::Release(size_t bytes) {
  if (stream_ != nullptr) stream_->Release(bytes);
}

bool ServerCall::Reserve(size_t bytes) { return stream_ != nullptr && stream_->Reserve(bytes); }

void ServerCall::Abandon() {
  stream_ = nullptr;
  std::list<Outgoing> dropped;
  MutexLock lock(mutex_);
  outgoing_.swap(dropped);
  unread_bytes_.reset();
  if (!status_.has_value()) status_ = absl::CancelledError("the call has ended");
}

// Handlers write and finish in one go: the session is woken after they have returned, once.
void ServerCall::Wake() {
  if (std::exchange(is_woken_, true)) return;
  loop_.Post([call = shared_from_this()] {
    if (call->stream_ != nullptr) call->stream_->Flush();
  });
}

}  // namespace gpuscaler
