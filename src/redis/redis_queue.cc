#include "redis/redis_queue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "redis/redis_fault.h"

namespace gpuscaler {
namespace {

using Kind = RedisReply::Kind;
using Length = RedisQueue::Length;

absl::Status Strange(absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat("what answers is no Redis: ", what));
}

absl::StatusOr<double> CountOf(const RedisReply& reply) {
  if (reply.kind == Kind::kError) return RedisFault(reply.text);
  if (reply.kind != Kind::kInteger || reply.integer < 0) return Strange("it counts nothing");
  return static_cast<double>(reply.integer);
}

// The value behind a name in a list of names and values; null: there is none.
const RedisReply* FindValue(const RedisReply& pairs, absl::string_view name) {
  for (size_t i = 0; i + 1 < pairs.list.size(); i += 2) {
    if (pairs.list[i].text == name) return &pairs.list[i + 1];
  }
  return nullptr;
}

// Null: the stream has no such group.
const RedisReply* FindGroup(const RedisReply& groups, absl::string_view name) {
  const auto found = std::ranges::find_if(groups.list, [&](const RedisReply& group) {
    const RedisReply* const found_name = FindValue(group, "name");
    return found_name != nullptr && found_name->text == name;
  });
  return found == groups.list.end() ? nullptr : &*found;
}

// Of the entries behind the last one that the group has read.
absl::StatusOr<RedisCommand> RangeQuestion(const RedisQueue& queue, const RedisReply& group) {
  constexpr size_t kLongestId = 41;  // two numbers of 64 bits
  const RedisReply* const last = FindValue(group, "last-delivered-id");
  if (last == nullptr || last->text.empty() || last->text.size() > kLongestId) {
    return Strange("it has a group that has read nowhere");
  }
  return RedisCommand{"XRANGE", queue.key, absl::StrCat("(", last->text),
                      "+",      "COUNT",   absl::StrCat(kMostCounted)};
}

absl::StatusOr<double> CountedLag(const RedisReply& range, double entries, double pending) {
  if (range.kind == Kind::kError) return RedisFault(range.text);
  if (range.kind != Kind::kList) return Strange("it lists no entries");
  const auto counted = static_cast<double>(range.list.size());
  return counted < kMostCounted ? counted : std::max(counted, entries - pending);
}

// The replies: XLEN, XINFO GROUPS and, where it was asked for, XRANGE.
RedisStep LagStep(const RedisQueue& queue, std::vector<RedisReply>& replies) {
  const absl::StatusOr<double> entries = CountOf(replies[0]);
  if (!entries.ok() || *entries == 0) return {.length = entries};
  if (replies.size() > 2) {
    return {.length = CountedLag(replies[2], *entries, static_cast<double>(replies[1].integer))};
  }
  const RedisReply& groups = replies[1];
  if (groups.kind == Kind::kError) return {.length = RedisFault(groups.text)};
  if (groups.kind != Kind::kList) return {.length = Strange("it lists no groups")};
  const RedisReply* const group = FindGroup(groups, queue.group);
  if (group == nullptr) return {.length = entries};
  const RedisReply* const lag = FindValue(*group, "lag");
  if (lag == nullptr) {
    return {.length = absl::FailedPreconditionError(
                "this Redis does not tell the lag of a group: it takes Redis 7")};
  }
  // Trimming entries that were not read leaves Redis' own number too large.
  if (lag->kind == Kind::kInteger) {
    return {.length = std::clamp(static_cast<double>(lag->integer), 0.0, *entries)};
  }
  const RedisReply* const pending = FindValue(*group, "pending");
  if (pending == nullptr) return {.length = Strange("it has a group with nothing pending")};
  if (const auto count = CountOf(*pending); !count.ok()) return {.length = count};
  absl::StatusOr<RedisCommand> question = RangeQuestion(queue, *group);
  if (!question.ok()) return {.length = question.status()};
  replies[1] = RedisReply(*pending);  // all that CountedLag() needs of it
  return {.ask = {*std::move(question)}};
}

absl::StatusOr<double> PendingOf(const RedisReply& reply) {
  if (reply.kind == Kind::kError && absl::StartsWith(reply.text, "NOGROUP")) return 0.0;
  if (reply.kind == Kind::kError) return RedisFault(reply.text);
  if (reply.kind != Kind::kList || reply.list.empty()) return Strange("it tells nothing pending");
  return CountOf(reply.list.front());
}

std::vector<RedisCommand> FirstQuestions(const RedisQueue& queue) {
  switch (queue.length) {
    case Length::kStream:
      return {{"XLEN", queue.key}};
    case Length::kLag:
      return {{"XLEN", queue.key}, {"XINFO", "GROUPS", queue.key}};
    case Length::kPending:
      return {{"XPENDING", queue.key, queue.group}};
    case Length::kList:
      break;
  }
  return {{"LLEN", queue.key}};
}

}  // namespace

RedisStep NextStep(const RedisQueue& queue, std::vector<RedisReply>& replies) {
  std::vector<RedisCommand> first = FirstQuestions(queue);
  if (replies.size() < first.size()) return {.ask = std::move(first)};
  if (queue.length == Length::kLag) return LagStep(queue, replies);
  if (queue.length == Length::kPending) return {.length = PendingOf(replies[0])};
  return {.length = CountOf(replies[0])};
}

}  // namespace gpuscaler
