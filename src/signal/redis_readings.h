// Schedules the readings of all queues in Redis, chooses their connections, and follows
// redirections of a Redis Cluster. Never blocks; RedisReader is its thread.
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
#include "model/signal_source.h"
#include "page/endpoint_rules.h"
#include "signal/redis_session.h"

namespace gpuscaler {

struct RedisLimits {
  absl::Duration interval = absl::Seconds(1);
  absl::Duration timeout = absl::Seconds(2);  // one complete reading
  // One connection is kept per address, user and database that a namespace's triggers name. A queue
  // that needs one more is not read, and the others are.
  size_t max_connections = 512;
  size_t max_per_namespace = 48;
};

// Connections may use at most a quarter of the process' open files. Each uses three: a socket and a
// pair of libcurl's. A namespace may use a quarter of these connections.
RedisLimits WithinOpenFiles(RedisLimits limits, size_t open_files);

struct RedisTarget {
  SignalSource source;  // a RedisQueue
  RedisServer server;   // without its tenant, and its address, which is one of those below
  // Addresses of the host, already checked by EndpointRules. The current one is kept until it
  // fails; then the next one is tried. A queue without addresses is not read.
  std::vector<IpAddress> addresses;
};

struct RedisReading {
  SignalSource source;
  absl::Time at;  // when the last reply arrived; set by RedisReader
  // Errors begin with the place: "redis.team-a.svc:6379 (10.1.2.3): no answer within 2s".
  absl::StatusOr<double> length;
  std::string note;  // RedisStep::note
};

// Not thread-safe. All times are of one clock.
class RedisReadings {
 public:
  // `rules` decide which nodes a Redis Cluster may redirect to. They must outlive this object.
  RedisReadings(const EndpointRules& rules, const RedisLimits& limits,
                std::shared_ptr<ResponseMemory> response_memory);

  // Replaces the queues to read. New ones are read at once.
  void Replace(std::vector<RedisTarget> targets);

  // Does all that is possible without blocking. Call it at WakeAt(), and when one of PollEvents()
  // is Ready().
  std::vector<RedisReading> Advance(absl::Time now);

  std::vector<pollfd> PollEvents();
  void Ready(std::span<const pollfd> polled);  // `polled`: the newest PollEvents() after poll()
  absl::Time WakeAt(absl::Time now) const;

 private:
  struct Server {
    Server(const RedisServer& server, const std::shared_ptr<ResponseMemory>& memory)
        : session(server, memory) {}

    RedisSession session;
    absl::Time phase;   // all its queues are read together, at whole intervals after this
    bool ready = true;  // must be advanced
    size_t queues = 0;  // queues that use it
  };
  using Servers = std::map<RedisServer, Server>;
  using Node = std::pair<IpAddress, int>;  // address and port
  struct PendingQuery;
  struct Queue {
    RedisTarget target;
    size_t choice = 0;                  // index in the addresses
    std::optional<Node> moved;          // redirection of its cluster
    Servers::value_type* at = nullptr;  // null: not read yet
    absl::Time due = absl::InfinitePast();
    std::shared_ptr<RedisReadMarks> marks = std::make_shared<RedisReadMarks>();
    std::shared_ptr<PendingQuery> pending;  // null: no reading in progress
    bool is_suspect = false;                // may have broken its connection, so it is read last
    absl::Duration pause;  // before the next reading, because it did break its connection
  };
  using Queues = std::map<SignalSource, Queue>;
  struct PendingQuery : RedisQuery {
    Queue* of = nullptr;      // null: the result is no longer needed
    bool redirected = false;  // to another cluster node
  };

  static void Update(Queue& queue, RedisTarget target);
  static void Reset(Queue& queue);
  static void Detach(Queue& queue);
  static RedisServer ServerOf(const Queue& queue);
  absl::Status CheckRoomFor(const RedisServer& wanted) const;
  void StartDue(bool of_suspects, absl::Time now);
  void Start(Queue& queue, absl::Time deadline, bool redirected, absl::Time now);
  void Take(const PendingQuery& finished, absl::Time now);
  static absl::Duration PauseAfter(const RedisQuery& finished, Queue& queue);
  bool Redirect(Queue& queue, absl::string_view to) const;
  absl::Time NextDue(const Server& server, absl::Time now) const;
  void EraseUnused(absl::Time now);

  const EndpointRules& rules_;
  const RedisLimits limits_;
  const std::shared_ptr<ResponseMemory> response_memory_;
  Servers servers_;
  Queues queues_;
  std::vector<Server*> polled_;  // one per element of the newest PollEvents()
  std::vector<RedisReading> results_;
};

}  // namespace gpuscaler
