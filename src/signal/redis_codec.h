// Redis' wire protocol (RESP2): commands to bytes, bytes to replies, however they arrive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

struct redisReader;

namespace gpuscaler {

using RedisCommand = std::vector<std::string>;  // {"XLEN", "jobs"}; a word may hold any bytes

struct RedisReply {
  enum class Kind { kNil, kInteger, kText, kError, kList };
  Kind kind = Kind::kNil;
  int64_t integer = 0;
  std::string text;  // of an error: its words, with the code in front ("WRONGTYPE Operation ...")
  std::vector<RedisReply> list;

  friend bool operator==(const RedisReply&, const RedisReply&) = default;
};

std::string EncodeRedisCommand(const RedisCommand& command);

// Not thread-safe.
class RedisDecoder {
 public:
  // Of one reply, so that no server fills our memory: as much as of a page of metrics (DESIGN 6),
  // and as many values as 1,000 consumer groups have in XINFO GROUPS, several times over.
  static constexpr size_t kMaxReplyBytes = size_t{4} << 20;
  static constexpr size_t kMaxReplyValues = size_t{1} << 16;

  RedisDecoder();
  ~RedisDecoder();
  RedisDecoder(const RedisDecoder&) = delete;
  RedisDecoder& operator=(const RedisDecoder&) = delete;

  void Feed(absl::string_view bytes);

  // The next reply; empty: not all of it has arrived. FAILED_PRECONDITION: what answers does not
  // speak Redis, or says too much; nothing that follows can be understood.
  absl::StatusOr<std::optional<RedisReply>> Next();

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };

  const std::unique_ptr<redisReader, Free> reader_;
  size_t unread_bytes_ = 0;  // fed, and not of a reply that was handed out
  size_t values_ = 0;        // in the lists of the reply that is being read
};

}  // namespace gpuscaler
