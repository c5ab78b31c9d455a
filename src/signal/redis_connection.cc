#include "signal/redis_connection.h"

#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "signal/redis_fault.h"

namespace gpuscaler {

RedisConnection::RedisConnection(const RedisServer& server, std::shared_ptr<ResponseMemory> memory)
    : tls_(server.place.tls), stream_(server.place), decoder_(std::move(memory), server.tenant) {
  SignIn(server);
}

void RedisConnection::SignIn(const RedisServer& server) {
  if (!server.username.empty()) {
    Enqueue({"AUTH", server.username, server.password});
  } else if (!server.password.empty()) {
    Enqueue({"AUTH", server.password});
  }
  if (server.database != 0) Enqueue({"SELECT", absl::StrCat(server.database)});
  sign_in_replies_ = std::exchange(pending_replies_, 0);
}

void RedisConnection::Enqueue(const RedisCommand& command) {
  unsent_ += EncodeRedisCommand(command);
  ++pending_replies_;
}

void RedisConnection::Advance() {
  if (!status_.ok()) return;
  stream_.Advance();
  status_ = stream_.status();
  if (stream_.Connected()) Send();
}

// Leaves errors to Receive(): what the server sent before it closed the connection must still be
// read.
void RedisConnection::Send() {
  while (!unsent_.empty()) {
    const absl::StatusOr<size_t> sent = stream_.Send(unsent_);
    if (!sent.ok() || *sent == 0) return;
    unsent_.erase(0, *sent);
  }
}

std::optional<RedisReply> RedisConnection::TakeReply() {
  while (replies_.empty()) {
    if (!status_.ok() || !stream_.Connected() || !Receive()) return std::nullopt;
  }
  RedisReply reply = std::move(replies_.front());
  replies_.pop_front();
  return reply;
}

bool RedisConnection::Receive() {
  std::array<char, 16384> buffer;
  const auto bytes = stream_.Receive(buffer.data(), buffer.size());
  if (!bytes.ok()) {
    Break(bytes.status());
  } else if (bytes->empty()) {
    return false;
  } else {
    decoder_.Feed(*bytes);
    Decode();
  }
  return true;
}

void RedisConnection::Decode() {
  while (status_.ok()) {
    absl::StatusOr<std::optional<RedisReply>> reply = decoder_.Next();
    if (!reply.ok()) {
      broke_on_reply_ = AwaitsReply();
      return Break(reply.status());
    }
    if (!reply->has_value()) return;
    Take(*std::move(*reply));
  }
}

void RedisConnection::Take(RedisReply reply) {
  const bool is_error = reply.kind == RedisReply::Kind::kError;
  if (sign_in_replies_ > 0) {
    --sign_in_replies_;
    if (is_error) Break(RedisSignInFault(reply.text));
  } else if (pending_replies_ > 0) {
    --pending_replies_;
    has_replied_ = true;
    replies_.push_back(std::move(reply));
  } else {
    Break(is_error ? RedisFault(reply.text)
                   : absl::FailedPreconditionError("a reply without a command"));
  }
}

// The first reason counts: the one that a server sends before it closes the connection.
void RedisConnection::Break(const absl::Status& status) {
  if (status_.ok()) status_ = status;
}

bool RedisConnection::AwaitsReply() const {
  return stream_.Connected() && sign_in_replies_ == 0 && pending_replies_ > 0;
}

std::string RedisConnection::Missing() const {
  if (stream_.Connected()) return "no answer";
  return tls_ ? "no connection or TLS handshake" : "no connection";
}

pollfd RedisConnection::PollEvents() const {
  pollfd poll_events = stream_.PollEvents();
  if (stream_.Connected() && !unsent_.empty()) poll_events.events |= POLLOUT;
  return poll_events;
}

}  // namespace gpuscaler
