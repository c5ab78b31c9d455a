#include "signal/redis_queue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "signal/redis_fault.h"

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
const RedisReply* Find(const RedisReply& pairs, absl::string_view name) {
  for (size_t i = 0; i + 1 < pairs.list.size(); i += 2) {
    if (pairs.list[i].text == name) return &pairs.list[i + 1];
  }
  return nullptr;
}

// Null: the stream has no such group.
const RedisReply* FindGroup(const RedisReply& groups, absl::string_view name) {
  const auto found = std::ranges::find_if(groups.list, [&](const RedisReply& group) {
    const RedisReply* const found_name = Find(group, "name");
    return found_name != nullptr && found_name->text == name;
  });
  return found == groups.list.end() ? nullptr : &*found;
}

RedisCommand BehindLastRead(const RedisQueue& queue, const RedisReply& group) {
  const RedisReply* const last = Find(group, "last-delivered-id");
  const std::string from = absl::StrCat("(", last == nullptr ? "0-0" : last->text);
  return {"XRANGE", queue.key, from, "+", "COUNT", absl::StrCat(kMostCounted)};
}

absl::StatusOr<double> CountedLag(const RedisReply& range, const RedisReply& group,
                                  double entries) {
  if (range.kind == Kind::kError) return RedisFault(range.text);
  if (range.kind != Kind::kList) return Strange("it lists no entries");
  const auto counted = static_cast<double>(range.list.size());
  if (counted < kMostCounted) return counted;
  const RedisReply* const pending = Find(group, "pending");
  if (pending == nullptr) return Strange("a group without \"pending\"");
  return std::max(counted, entries - static_cast<double>(pending->integer));
}

// The replies: XLEN, XINFO GROUPS and, where it was asked for, XRANGE.
RedisStep LagStep(const RedisQueue& queue, const std::vector<RedisReply>& replies) {
  const absl::StatusOr<double> entries = CountOf(replies[0]);
  if (!entries.ok() || *entries == 0) return {.length = entries};
  const RedisReply& groups = replies[1];
  if (groups.kind == Kind::kError) return {.length = RedisFault(groups.text)};
  if (groups.kind != Kind::kList) return {.length = Strange("it lists no groups")};
  const RedisReply* const group = FindGroup(groups, queue.group);
  if (group == nullptr) return {.length = entries};
  const RedisReply* const lag = Find(*group, "lag");
  if (lag == nullptr) {
    return {.length = absl::FailedPreconditionError(
                "this Redis does not tell the lag of a group: it takes Redis 7")};
  }
  // Trimming entries that were not read leaves Redis' own number too large.
  if (lag->kind == Kind::kInteger) {
    return {.length = std::clamp(static_cast<double>(lag->integer), 0.0, *entries)};
  }
  if (replies.size() == 2) return {.ask = {BehindLastRead(queue, *group)}};
  return {.length = CountedLag(replies[2], *group, *entries)};
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

RedisStep NextStep(const RedisQueue& queue, const std::vector<RedisReply>& replies) {
  std::vector<RedisCommand> first = FirstQuestions(queue);
  if (replies.size() < first.size()) return {.ask = std::move(first)};
  if (queue.length == Length::kLag) return LagStep(queue, replies);
  if (queue.length == Length::kPending) return {.length = PendingOf(replies[0])};
  return {.length = CountOf(replies[0])};
}

}  // namespace gpuscaler
