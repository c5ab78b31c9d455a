// How long a queue in Redis is: which commands tell it, and what their replies say.
//
//   XLEN    entries of a stream; one that nobody wrote to yet has none
//   XINFO GROUPS  a group's lag, from Redis 7 on. No such group: its workers make it when they
//           start, and all entries wait for them
//   XPENDING entries read and not acknowledged; nothing without a group
//   LLEN    items of a list
//
// Redis gives no lag (nil) to a group made with `$` or an id until it has read all, nor while an
// entry that is deleted may be among those not read yet. Between these its lag is then, the best
// that is known first:
//
//   what XRANGE lists behind the entry read last, where that is all: exact
//   XINFO STREAM  entries-added less what was added up to the entry read last: what the group read
//           (entries-read, if told), or where its stream ended in a reading before
//           (RedisReadMarks). Never too low; too high by entries deleted unread
//   XLEN less what is pending, where neither is known: right where entries are deleted when done,
//           and too high by those done and kept
//
// https://redis.io/docs/latest/commands/xinfo-groups/
// https://redis.io/docs/latest/commands/xinfo-stream/
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/signal_source.h"
#include "redis/redis_codec.h"
#include "redis/redis_read_marks.h"

namespace gpuscaler {

// So many entries are counted one by one at most, fewer where they are large: XRANGE lists all that
// is in them, and RedisDecoder ends a reply that is several times larger than this.
inline constexpr int kMostCounted = 100;
inline constexpr size_t kCountedBytes = size_t{1} << 20;

// A reply could not be read, the next one behind so many: XINFO STREAM holds its first and its last
// entry. Without it one entry is counted.
void NoteUnreadable(size_t replies, RedisReadMarks& marks);

// What one reading has found out of a lag that Redis does not tell.
struct RedisLag {
  double entries = 0;
  double pending = 0;
  std::string last_text;  // the id of the entry read last
  StreamId last;
  std::optional<double> told;     // by Redis, after all
  std::optional<double> at_most;  // not read yet, by entries-added
  int counted = 0;                // so many were asked for
};

struct RedisStep {
  std::vector<RedisCommand> ask;  // empty: done
  absl::StatusOr<double> length = absl::UnavailableError("not asked yet");
  std::string note;  // what people should know of it: "stream jobs has no group workers"
};

// What to do after `replies`, all those to what was asked for this queue in this reading, in that
// order: none at first. UNAVAILABLE, PERMISSION_DENIED and FAILED_PRECONDITION as in RedisFault().
// It leaves no replies that are not needed: many queues may be on their way. `lag` is of this
// reading, `marks` of all of this queue.
RedisStep NextStep(const RedisQueue& queue, std::vector<RedisReply>& replies, RedisLag& lag,
                   RedisReadMarks& marks);

}  // namespace gpuscaler
