// Encodes commands and decodes replies of Redis' wire protocol (RESP2), however they are split.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "page/response_memory.h"

struct redisReader;

namespace gpuscaler {

using RedisCommand = std::vector<std::string>;  // {"XLEN", "jobs"}; words are binary-safe

struct RedisReply {
  enum class Kind { kNil, kInteger, kText, kError, kList };
  Kind kind = Kind::kNil;
  int64_t integer = 0;
  std::string text;  // an error has its code in front ("WRONGTYPE Operation ...")
  std::vector<RedisReply> list;

  friend bool operator==(const RedisReply&, const RedisReply&) = default;
};

std::string EncodeRedisCommand(const RedisCommand& command);

// Not thread-safe.
class RedisDecoder {
 public:
  // Limits per reply, so that no server fills our memory: the size of an exposition, and
  // several times the values of XINFO GROUPS with 1,000 consumer groups.
  static constexpr size_t kMaxReplyBytes = size_t{4} << 20;
  static constexpr size_t kMaxReplyValues = size_t{1} << 16;

  // `tenant` shares the memory for large replies, `all`, with others.
  explicit RedisDecoder(std::shared_ptr<ResponseMemory> all = std::make_shared<ResponseMemory>(),
                        std::string tenant = "");
  RedisDecoder(const RedisDecoder&) = delete;
  RedisDecoder& operator=(const RedisDecoder&) = delete;

  void Feed(absl::string_view bytes);

  // Returns the next reply, or nullopt if it is incomplete. FAILED_PRECONDITION: a reply is not in
  // the Redis protocol, or exceeds a limit; the rest of the stream cannot be decoded.
  // RESOURCE_EXHAUSTED: there is no memory for a reply of this size.
  absl::StatusOr<std::optional<RedisReply>> Next();

  // Called by hiredis for each list. Returns false if the reply may not have that many more values.
  bool AddValues(size_t values);

 private:
  // Sets the number of bytes to decode and of values in lists. Returns false if there is no memory
  // for them.
  bool Resize(size_t unread_bytes, size_t values);

  MemoryReservation memory_;  // held by the reply that is being decoded
  size_t unread_bytes_ = 0;
  size_t values_ = 0;
  bool is_exhausted_ = false;  // a Resize() failed
  const std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
};

}  // namespace gpuscaler
