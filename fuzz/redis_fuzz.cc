// Replies of a tenant's Redis, which may be any server.
#include <algorithm>
#include <cstdint>

#include "fuzz_assert.h"
#include "signal/redis_codec.h"

namespace gpuscaler {
namespace {

size_t ValuesIn(const RedisReply& reply) {
  size_t values = reply.list.size();
  for (const RedisReply& part : reply.list) values += ValuesIn(part);
  return values;
}

// Feeds parts of that size; returns the number of replies.
size_t CheckReplies(absl::string_view bytes, size_t part) {
  RedisDecoder decoder;
  size_t replies = 0;
  while (!bytes.empty()) {
    decoder.Feed(bytes.substr(0, part));
    bytes.remove_prefix(std::min(part, bytes.size()));
    while (true) {
      const auto reply = decoder.Next();
      if (!reply.ok()) {
        FUZZ_ASSERT(reply.status().code() == absl::StatusCode::kFailedPrecondition ||
                    reply.status().code() == absl::StatusCode::kResourceExhausted);
        FUZZ_ASSERT(!reply.status().message().empty());
        return replies;
      }
      if (!reply->has_value()) break;
      FUZZ_ASSERT(ValuesIn(**reply) <= RedisDecoder::kMaxReplyValues);
      ++replies;
    }
  }
  return replies;
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t whole = gpuscaler::CheckReplies(bytes, bytes.size() + 1);
  FUZZ_ASSERT(gpuscaler::CheckReplies(bytes, 1) == whole);
  return 0;
}
