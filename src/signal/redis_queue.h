// The length of a queue in Redis: the commands that read it, and how to evaluate their replies.
//
//   XLEN          entries of a stream; 0 if the stream does not exist yet
//   XINFO GROUPS  a group's lag, since Redis 7. If the group does not exist yet, its workers create
//                 it when they start, and all entries wait
//   XPENDING      entries read but not acknowledged; 0 without a group
//   LLEN          items of a list
//
// Redis reports no lag (nil) for a group created at `$` or an id until it has read everything, and
// while a deleted entry may be among its unread ones. The lag is then the first of these that is
// known:
//
//   XRANGE        the entries after the last one read, if it lists all: exact
//   XINFO STREAM  entries-added minus the entries added up to the last one read. That number is
//                 entries-read, if reported, or the stream's end in an earlier reading
//                 (RedisReadMarks). Never too low; too high by entries deleted unread
//   XLEN          minus the pending entries: exact if entries are deleted when done, else too high
//                 by those done and kept
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
#include "signal/redis_codec.h"
#include "signal/redis_read_marks.h"

namespace gpuscaler {

// Limits of the entries that one XRANGE lists: their number and their size. Large entries reduce
// the number: XRANGE returns their contents, and RedisDecoder rejects a reply several times this
// size.
inline constexpr int kMaxRangeEntries = 100;
inline constexpr size_t kMaxRangeBytes = size_t{1} << 20;

// Must be called if the reply after `replies` others could not be decoded. The reply to XINFO
// STREAM includes the first and the last entry. If it was the one, XRANGE lists one entry from now
// on, without XINFO STREAM.
void RecordUnreadable(size_t replies, RedisReadMarks& marks);

// The findings of one reading about a lag that Redis does not report.
struct RedisLag {
  double entries = 0;
  double pending = 0;
  std::string last_text;  // id of the last entry read
  StreamId last;
  std::optional<double> reported;  // the lag, if Redis reports it after all
  std::optional<double> at_most;   // unread entries, by entries-added
  std::optional<int> range_count;  // COUNT of the XRANGE that was sent; empty: none was
};

struct RedisStep {
  std::vector<RedisCommand> commands;  // commands to send; empty: done
  absl::StatusOr<double> length = absl::UnavailableError("not queried yet");
  std::string note;  // shown in the explanation: "stream jobs has no group workers"
};

// `replies` are all replies of this reading in order; none at first. Errors as in RedisFault().
// Clears replies that are no longer needed, because many queues may be read at once. `lag` belongs
// to this reading, `marks` to all readings of the queue.
RedisStep NextStep(const RedisQueue& queue, std::vector<RedisReply>& replies, RedisLag& lag,
                   RedisReadMarks& marks);

}  // namespace gpuscaler
