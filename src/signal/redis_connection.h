// A non-blocking connection to a Redis server. It signs in, then pipelines commands and returns
// their replies in order.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "page/response_memory.h"
#include "page/tcp_stream.h"
#include "signal/redis_codec.h"

namespace gpuscaler {

// Equal servers share a connection. Tenants share none, because a command of one may break it.
struct RedisServer {
  std::string tenant;  // shares the memory for large replies with others
  ServerAddress place;
  std::string username;  // empty: Redis' default user
  std::string password;  // secret; empty without a user: no AUTH is sent
  int database = 0;

  friend auto operator<=>(const RedisServer&, const RedisServer&) = default;
};

// Not thread-safe.
class RedisConnection {
 public:
  // Starts to connect. `memory`: as in RedisDecoder.
  RedisConnection(const RedisServer& server, std::shared_ptr<ResponseMemory> memory);

  // Queues a command, at any time. It is sent as soon as possible.
  void Enqueue(const RedisCommand& command);

  // Connects and sends without blocking. Call it when PollEvents() is ready, after WakeIn(), and
  // after Enqueue().
  void Advance();

  // Returns the reply to the oldest command without one, or nullopt. Call it until then: it
  // receives no more than one reply.
  std::optional<RedisReply> TakeReply();

  // Not OK: permanently broken. Errors as in TcpStream, RedisDecoder and RedisSignInFault().
  const absl::Status& status() const { return status_; }
  // A break after the first reply may be due to a long idle time or a restart of the server.
  bool HasReplied() const { return has_replied_; }
  // Returns true if signed in and a reply is outstanding.
  bool AwaitsReply() const;
  // Returns true if an undecodable reply broke the connection.
  bool BrokeOnReply() const { return broke_on_reply_; }
  // Returns the reason of a timeout: "no connection", "no answer".
  std::string Missing() const;

  pollfd PollEvents() const;
  absl::Duration WakeIn() const { return stream_.WakeIn(); }

 private:
  void SignIn(const RedisServer& server);
  void Send();
  bool Receive();  // false: nothing has arrived
  void Decode();
  void Take(RedisReply reply);
  void Break(const absl::Status& status);

  const bool tls_;
  TcpStream stream_;
  RedisDecoder decoder_;
  std::string unsent_;
  int sign_in_replies_ = 0;  // outstanding replies to the sign-in
  int pending_replies_ = 0;  // outstanding replies to commands
  std::deque<RedisReply> replies_;
  absl::Status status_;
  bool has_replied_ = false;
  bool broke_on_reply_ = false;
};

}  // namespace gpuscaler
