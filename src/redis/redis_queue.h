// How long a queue in Redis is: which commands tell it, and what their replies say.
//
//   XLEN    entries of a stream; one that nobody wrote to yet has none
//   XINFO   a group's lag, from Redis 7 on. Redis gives none (nil) while an entry that is deleted
//           may be among those not read yet, as where several workers XDEL what they have done and
//           a later one ends first: the entries behind the last one read are then counted. No such
//           group: its workers make it when they start, and all entries wait for them
//   XPENDING entries read and not acknowledged; nothing without a group
//   LLEN    items of a list
//
// https://redis.io/docs/latest/commands/xinfo-groups/
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/signal_source.h"
#include "redis/redis_codec.h"

namespace gpuscaler {

// Where nil stands for a lag, so many entries are counted one by one, with all that is in them.
// From there on it is what is in the stream and in no worker's hands: right where entries are
// deleted when done, and never less than this.
inline constexpr int kMostCounted = 100;

struct RedisStep {
  std::vector<RedisCommand> ask;  // empty: done
  absl::StatusOr<double> length = absl::UnavailableError("not asked yet");
};

// What to do after `replies`, all those to what was asked for this queue in this reading, in that
// order: none at first. UNAVAILABLE, PERMISSION_DENIED and FAILED_PRECONDITION as in RedisFault().
// Of replies that are needed later it leaves no more than that: many queues may be on their way.
RedisStep NextStep(const RedisQueue& queue, std::vector<RedisReply>& replies);

}  // namespace gpuscaler
