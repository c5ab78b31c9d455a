// The readings of all queues in Redis: which is due, over which connection it is asked, and where a
// cluster sends it. Never waits; RedisReader is its thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "endpoint/endpoint_rules.h"
#include "model/signal_source.h"
#include "redis/redis_limits.h"
#include "redis/redis_session.h"

namespace gpuscaler {

struct RedisTarget {
  SignalSource source;  // of a RedisQueue
  RedisServer server;   // how it is spoken to; which address, is chosen of those below
  // What the host resolved to, checked by EndpointRules. One that answers is kept to; when it
  // fails, the next one's turn comes. None: it is not read until there are.
  std::vector<IpAddress> addresses;
};

struct RedisResult {
  SignalSource source;
  // A failure begins with the place: "redis.team-a.svc:6379 (10.1.2.3): no answer within 2s".
  absl::StatusOr<double> length;
  std::string note;  // RedisStep's
};

// Not thread-safe. The times are those of one clock.
class RedisReadings {
 public:
  // The rules say which nodes a Redis Cluster may lead to; they outlive this.
  RedisReadings(const EndpointRules& rules, const RedisLimits& limits,
                std::shared_ptr<LargeBodies> large_bodies);

  // All that is wanted from now on; what is new is read at once.
  void Replace(std::vector<RedisTarget> targets);

  // Goes on as far as it gets. To be called at WakeAt(), and when one of WaitsFor() is Ready().
  std::vector<RedisResult> Advance(absl::Time now);

  std::vector<pollfd> WaitsFor();
  void Ready(std::span<const pollfd> polled);  // what poll() made of the newest WaitsFor()
  absl::Time WakeAt(absl::Time now) const;

 private:
  // What is asked for over one connection. Namespaces share none: what one of them asks for may
  // break it.
  struct Place {
    std::string namespace_name;
    RedisServer server;

    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Server {
    Server(const RedisServer& server, const RedisMemoryBudget& budget) : session(server, budget) {}

    RedisSession session;
    absl::Time phase;   // all of its queues are read together, whole intervals from then
    bool ready = true;  // to be advanced
    size_t queues = 0;  // that are at it
  };
  using Servers = std::map<Place, Server>;  // those of a namespace side by side
  using Node = std::pair<IpAddress, int>;   // its port
  struct Asked;
  struct Queue {
    RedisTarget target;
    size_t choice = 0;                  // of the addresses
    std::optional<Node> moved;          // where its cluster led to
    Servers::value_type* at = nullptr;  // null: not asked for yet
    absl::Time due = absl::InfinitePast();
    std::shared_ptr<RedisReadMarks> marks = std::make_shared<RedisReadMarks>();
    std::shared_ptr<Asked> asked;  // null: no reading is on its way
    bool is_suspect = false;       // it may have broken its connection: it is asked last
    absl::Duration pause;          // before it is asked again, because it surely did
  };
  using Queues = std::map<SignalSource, Queue>;
  struct Asked : RedisQuestion {
    Queue* of = nullptr;  // null: nobody wants the answer any more
    bool hopped = false;  // to another node of the cluster
  };

  static void Adopt(Queue& queue, RedisTarget target);
  static void Leave(Queue& queue);
  static void Detach(Queue& queue);
  static Place PlaceOf(const Queue& queue);
  absl::Status CheckRoomFor(const Place& place) const;
  void Settle(Queue& queue, const Place& place, absl::Time now);
  void AskThoseDue(bool suspects, absl::Time now);
  void Ask(Queue& queue, absl::Time deadline, bool hopped, absl::Time now);
  void Take(RedisAnswer answer, absl::Time now);
  static absl::Duration PauseAfter(const RedisAnswer& answer, Queue& queue);
  bool Hop(Queue& queue, absl::string_view to) const;
  absl::Time NextDue(const Server& server, absl::Time now) const;
  void Forget(absl::Time now);

  const EndpointRules& rules_;
  const RedisLimits limits_;
  const std::shared_ptr<LargeBodies> large_bodies_;
  Servers servers_;
  Queues queues_;
  std::vector<Server*> polled_;  // whose the newest WaitsFor() are
  std::vector<RedisResult> results_;
};

}  // namespace gpuscaler
