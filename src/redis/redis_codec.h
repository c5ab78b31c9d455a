// Redis' wire protocol (RESP2): commands to bytes, bytes to replies, however they arrive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "page/large_bodies.h"

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

// What a reply that is being read takes of memory. Not thread-safe.
class RedisReplyMemory {
 public:
  RedisReplyMemory(std::shared_ptr<LargeBodies> all, std::string tenant);

  // So many bytes are waiting to be read, and so many values are in lists. False: there is no
  // memory for them.
  bool Resize(size_t unread_bytes, size_t values);
  bool AddValues(size_t values) { return Resize(unread_bytes_, values_ + values); }

  size_t unread_bytes() const { return unread_bytes_; }
  size_t values() const { return values_; }
  bool is_short() const { return is_short_; }  // there was no memory

 private:
  LargeBody memory_;
  size_t unread_bytes_ = 0;
  size_t values_ = 0;
  bool is_short_ = false;
};

// Not thread-safe.
class RedisDecoder {
 public:
  // Of one reply, so that no server fills our memory: as much as of a page of metrics (DESIGN 6),
  // and as many values as 1,000 consumer groups have in XINFO GROUPS, several times over.
  static constexpr size_t kMaxReplyBytes = size_t{4} << 20;
  static constexpr size_t kMaxReplyValues = size_t{1} << 16;

  // For a tenant, who shares memory for large replies with others.
  explicit RedisDecoder(std::shared_ptr<LargeBodies> all = std::make_shared<LargeBodies>(),
                        std::string tenant = "");
  ~RedisDecoder();
  RedisDecoder(const RedisDecoder&) = delete;
  RedisDecoder& operator=(const RedisDecoder&) = delete;

  void Feed(absl::string_view bytes);

  // The next reply; empty: not all of it has arrived. FAILED_PRECONDITION: what answers does not
  // speak Redis, or says too much; nothing that follows can be understood. RESOURCE_EXHAUSTED:
  // there is no memory for so large a reply beside the others'.
  absl::StatusOr<std::optional<RedisReply>> Next();

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };

  RedisReplyMemory memory_;
  const std::unique_ptr<redisReader, Free> reader_;
};

}  // namespace gpuscaler
