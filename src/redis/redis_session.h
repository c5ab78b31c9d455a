// What is asked of one Redis server: over one connection, which is kept, and made anew when it
// breaks, later and later while that fails. Never waits.
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
#include "redis/redis_connection.h"
#include "redis/redis_queue.h"

namespace gpuscaler {

// One reading of one queue, on its way.
struct RedisQuestion {
  RedisQueue queue;
  absl::Time deadline;
  absl::Duration timeout;  // from the first question to the deadline
  std::shared_ptr<RedisReadMarks> marks = std::make_shared<RedisReadMarks>();  // the queue's

  // The session's:
  std::vector<RedisReply> replies;
  RedisLag lag;
  size_t owed = 0;           // replies to come
  bool asked_again = false;  // over another connection, because the first one broke
};

// Whether a question broke the connection.
enum class RedisErrorSource {
  kNone,
  kPossible,  // its reply was the next one to come: any other's might have been
  kCertain,   // its reply could not be read, or did not come while all before it did
};

struct RedisAnswer {
  std::shared_ptr<RedisQuestion> question;
  absl::StatusOr<double> length;
  std::string
      moved_to;  // "10.1.2.3:6379": it is that node's of the cluster; the length is no answer
  RedisErrorSource error_source = RedisErrorSource::kNone;
  std::string note;  // RedisStep's
};

// Not thread-safe. The times are those of one clock.
class RedisSession {
 public:
  RedisSession(RedisServer server, RedisMemoryBudget budget);

  // Over the connection there is, or a new one. While connecting is put off, the answer is why.
  void Ask(const std::shared_ptr<RedisQuestion>& question, absl::Time now);

  // Goes on as far as it gets, and hands out the questions that were answered or failed. To be
  // called when WaitsFor() is ready, at WakeAt() and after Ask(); again at once while HasMore().
  std::vector<RedisAnswer> Advance(absl::Time now);

  pollfd WaitsFor() const;  // fd -1: for nothing
  absl::Time WakeAt(absl::Time now) const;
  bool HasMore() const { return has_more_; }
  // No connection is made before then, because the last one failed.
  absl::Time PutOffUntil() const { return put_off_until_; }

 private:
  void Connect();
  void Send(const std::shared_ptr<RedisQuestion>& question,
            const std::vector<RedisCommand>& commands);
  void Deal(RedisReply reply);
  void Finish(const std::shared_ptr<RedisQuestion>& question, absl::StatusOr<double> length,
              std::string moved_to = "", RedisErrorSource error_source = RedisErrorSource::kNone);
  RedisErrorSource ErrorSourceOf(const absl::Status& why) const;
  void Broke(const absl::Status& why, absl::Time now);
  void PutOff(const absl::Status& why, absl::Time now);
  absl::Time EarliestDeadline() const;

  const RedisServer server_;
  const RedisMemoryBudget budget_;
  std::unique_ptr<RedisConnection> connection_;      // null: none
  std::deque<std::shared_ptr<RedisQuestion>> owed_;  // one for each reply to come, in that order
  std::vector<RedisAnswer> answers_;
  bool has_more_ = false;
  int breaks_ = 0;  // one behind the other, without a reply between

  absl::Duration pause_;  // before the next connection, if that fails too
  absl::Time put_off_until_ = absl::InfinitePast();
  absl::Status failure_;  // why
};

}  // namespace gpuscaler
