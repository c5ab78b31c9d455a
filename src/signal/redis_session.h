// Reads the queues of one Redis server over one connection. The connection is kept and replaced
// when it breaks, with exponential backoff while that fails. Never blocks.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/signal_source.h"
#include "signal/redis_connection.h"
#include "signal/redis_queue.h"

namespace gpuscaler {

// Whether a query broke the connection.
enum class RedisErrorSource {
  kNone,
  kPossible,  // its reply was next, as any other might have been
  kCertain,   // its reply could not be decoded, or was missing after all replies before it
};

// A reading of one queue.
struct RedisQuery {
  RedisQueue queue;
  absl::Time deadline;
  absl::Duration timeout;  // time from the first command to the deadline
  std::shared_ptr<RedisReadMarks> marks = std::make_shared<RedisReadMarks>();  // the queue's

  // Used by the session:
  std::vector<RedisReply> replies;
  RedisLag lag;
  size_t pending_replies = 0;  // outstanding replies
  bool is_retry = false;       // sent again because the first connection broke

  // The result:
  absl::StatusOr<double> length;
  std::string note;      // RedisStep::note
  std::string moved_to;  // "10.1.2.3:6379": the cluster node with the key; `length` is an error
  RedisErrorSource error_source = RedisErrorSource::kNone;
};

// Not thread-safe. All times are of one clock.
class RedisSession {
 public:
  RedisSession(RedisServer server, std::shared_ptr<ResponseMemory> memory);

  // Uses the connection, or opens one. During backoff `length` is the reason for it.
  void Start(const std::shared_ptr<RedisQuery>& query, absl::Time now);

  // Does all that is possible without blocking, and returns the finished queries. Call it when
  // PollEvents() is ready, at WakeAt(), after Start(), and again at once while HasMore().
  std::vector<std::shared_ptr<RedisQuery>> Advance(absl::Time now);

  pollfd PollEvents() const;  // fd -1: none
  absl::Time WakeAt(absl::Time now) const;
  bool HasMore() const { return has_more_; }
  // No connection is opened until then, because the last one failed.
  absl::Time RetryAt() const { return retry_at_; }

 private:
  void Send(const std::shared_ptr<RedisQuery>& query, const std::vector<RedisCommand>& commands);
  void HandleReply(RedisReply reply);
  void Finish(const std::shared_ptr<RedisQuery>& query, absl::StatusOr<double> length);
  RedisErrorSource ErrorSourceOf(const absl::Status& why) const;
  void OnBreak(const absl::Status& why, absl::Time now);
  void BackOff(const absl::Status& why, absl::Time now);
  absl::Time EarliestDeadline() const;

  const RedisServer server_;
  const std::shared_ptr<ResponseMemory> memory_;
  std::unique_ptr<RedisConnection> connection_;      // null: none
  std::deque<std::shared_ptr<RedisQuery>> pending_;  // one per outstanding reply, in order
  std::vector<std::shared_ptr<RedisQuery>> finished_;
  bool has_more_ = false;
  int breaks_ = 0;  // consecutive breaks without a reply between them

  absl::Duration pause_;  // before the next connection, if that fails too
  absl::Time retry_at_ = absl::InfinitePast();
  absl::Status failure_;  // the reason for the backoff
};

}  // namespace gpuscaler
