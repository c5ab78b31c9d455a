// One connection to a Redis server: signs in, then sends commands and hands out their replies in
// order, as many on their way at once as there are. Never waits.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "page/tcp_stream.h"
#include "redis/redis_codec.h"

namespace gpuscaler {

// Whoever has an equal one may share its connection, within a namespace.
struct RedisServer {
  StreamTarget place;
  std::string username;  // empty: Redis' default user
  std::string password;  // secret; empty, without a user: none is asked for
  int database = 0;

  friend auto operator<=>(const RedisServer&, const RedisServer&) = default;
};

// For whom it is, and what large replies take their memory of.
struct RedisMemoryBudget {
  std::string tenant;
  std::shared_ptr<LargeBodies> large_bodies;
};

// Not thread-safe.
class RedisConnection {
 public:
  // Begins to connect. For RedisDecoder.
  RedisConnection(const RedisServer& server, const RedisMemoryBudget& budget);

  // Any number at any time; sent as soon as it can be.
  void Ask(const RedisCommand& command);

  // Connects and sends, as far as it gets. To be called when WaitsFor() is ready, after WakeIn(),
  // and after Ask().
  void Advance();

  // The reply to the command that was asked first of those not replied to; empty: not yet. To be
  // called until then: no more is received than one reply takes.
  std::optional<RedisReply> TakeReply();

  // Not OK: broken, for good. As TcpStream, RedisDecoder and RedisSignInFault() say it.
  const absl::Status& status() const { return status_; }
  // It replied to something: it may be broken now because it stood idle for long, or was restarted.
  bool HasReplied() const { return has_replied_; }
  // Signed in, and a reply is still to come.
  bool AwaitsReply() const;
  // It broke because nothing that follows that reply could be understood.
  bool ReplyBroke() const { return reply_broke_; }
  // What is missing, when somebody has waited too long: "no TLS handshake", "no answer".
  std::string Missing() const;

  pollfd WaitsFor() const;
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
  int sign_in_replies_ = 0;  // still to come
  int owed_replies_ = 0;     // still to come, behind those
  std::deque<RedisReply> replies_;
  absl::Status status_;
  bool has_replied_ = false;
  bool reply_broke_ = false;
};

}  // namespace gpuscaler
