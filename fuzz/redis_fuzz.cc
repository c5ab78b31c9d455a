// Replies of a tenant's Redis, which may be any server, and the lengths of queues by them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "fuzz_assert.h"
#include "signal/redis_codec.h"
#include "signal/redis_fault.h"
#include "signal/redis_queue.h"

namespace gpuscaler {
namespace {

using Kind = RedisReply::Kind;

size_t ValuesIn(const RedisReply& reply) {
  size_t values = reply.list.size();
  for (const RedisReply& part : reply.list) values += ValuesIn(part);
  return values;
}

// Feeds parts of that size.
std::vector<RedisReply> CheckReplies(absl::string_view bytes, size_t part) {
  RedisDecoder decoder;
  std::vector<RedisReply> replies;
  while (!bytes.empty()) {
    decoder.Feed(bytes.substr(0, part));
    bytes.remove_prefix(std::min(part, bytes.size()));
    while (true) {
      auto reply = decoder.Next();
      if (!reply.ok()) {
        FUZZ_ASSERT(reply.status().code() == absl::StatusCode::kFailedPrecondition ||
                    reply.status().code() == absl::StatusCode::kResourceExhausted);
        FUZZ_ASSERT(!reply.status().message().empty());
        return replies;
      }
      if (!reply->has_value()) break;
      FUZZ_ASSERT(ValuesIn(**reply) <= RedisDecoder::kMaxReplyValues);
      replies.push_back(**std::move(reply));
    }
  }
  return replies;
}

bool IsPrintable(absl::string_view text) { return PrintableText(text, text.size()) == text; }

void CheckFault(const absl::Status& fault) {
  FUZZ_ASSERT(absl::IsPermissionDenied(fault) || absl::IsFailedPrecondition(fault) ||
              absl::IsUnavailable(fault));
  FUZZ_ASSERT(!fault.message().empty() && fault.message().size() < 1000);
  FUZZ_ASSERT(IsPrintable(fault.message()));
}

void CheckErrors(const RedisReply& reply) {
  for (const RedisReply& part : reply.list) CheckErrors(part);
  if (reply.kind != Kind::kError) return;
  CheckFault(RedisFault(reply.text));
  const absl::Status sign_in_fault = RedisSignInFault(absl::StrCat(reply.text, "secret"));
  CheckFault(sign_in_fault);
  FUZZ_ASSERT(!absl::StrContains(sign_in_fault.message(), "secret"));
  const absl::string_view node = MovedTo(reply.text);
  FUZZ_ASSERT(node.empty() || absl::StartsWith(reply.text, "MOVED "));
  FUZZ_ASSERT(absl::EndsWith(reply.text, node) && !absl::StrContains(node, ' '));
}

// Removes the replies to one reading from `replies`. If there are too few, the last one could not
// be decoded.
void CheckReading(const RedisQueue& queue, std::span<const RedisReply>& replies,
                  RedisReadMarks& marks) {
  constexpr int kMaxRounds = 3;  // XLEN and XINFO GROUPS, XINFO STREAM, XRANGE
  std::vector<RedisReply> received;
  RedisLag lag;
  RedisStep step = NextStep(queue, received, lag, marks);
  for (int round = 1; !step.commands.empty(); ++round) {
    FUZZ_ASSERT(round <= kMaxRounds);
    FUZZ_ASSERT(!lag.range_count || (*lag.range_count >= 1 && *lag.range_count <= 100));
    const size_t count = std::min(step.commands.size(), replies.size());
    received.insert(received.end(), replies.begin(), replies.begin() + count);
    replies = replies.subspan(count);
    if (count < step.commands.size()) return RecordUnreadable(received.size(), marks);
    step = NextStep(queue, received, lag, marks);
  }
  if (!step.length.ok()) return CheckFault(step.length.status());
  FUZZ_ASSERT(*step.length >= 0 && std::isfinite(*step.length));
  FUZZ_ASSERT(IsPrintable(step.note) && step.note.size() < 1000);
}

// Changes a reply to that of a later reading, in which each number and each id is higher.
void Grow(RedisReply& reply) {
  if (reply.integer < std::numeric_limits<int64_t>::max()) ++reply.integer;
  if (const auto id = ParseStreamId(reply.text)) {
    reply.text = absl::StrCat(id->milliseconds, "-", id->sequence + 1);
  }
  for (RedisReply& part : reply.list) Grow(part);
}

void CheckReadings(RedisQueue::Length length, std::vector<RedisReply> replies) {
  constexpr size_t kMaxMarks = 256;     // signal/redis_read_marks.cc
  constexpr int kMaxRepetitions = 300;  // each adds a mark or two
  const RedisQueue queue = {.length = length, .key = "jobs\n", .group = "workers"};
  RedisReadMarks marks;
  for (int i = 0; i == 0 || (i < kMaxRepetitions && marks.size() > 0); ++i) {
    for (std::span<const RedisReply> left = replies; !left.empty();) {
      CheckReading(queue, left, marks);
      FUZZ_ASSERT(marks.size() <= kMaxMarks);
    }
    std::ranges::for_each(replies, Grow);
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using Length = gpuscaler::RedisQueue::Length;
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto replies = gpuscaler::CheckReplies(bytes, bytes.size() + 1);
  FUZZ_ASSERT(gpuscaler::CheckReplies(bytes, 1) == replies);
  std::ranges::for_each(replies, gpuscaler::CheckErrors);
  for (const Length length : {Length::kStream, Length::kLag, Length::kPending, Length::kList}) {
    gpuscaler::CheckReadings(length, replies);
  }
  return 0;
}
