#include "signal/redis_queue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "base/printable_text.h"
#include "signal/redis_fault.h"

namespace gpuscaler {
namespace {

using Kind = RedisReply::Kind;
using Length = RedisQueue::Length;

absl::Status NotRedis(absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat("the server is not Redis: ", what));
}

absl::StatusOr<double> CountOf(const RedisReply& reply) {
  if (reply.kind == Kind::kError) return RedisFault(reply.text);
  if (reply.kind != Kind::kInteger || reply.integer < 0) return NotRedis("its reply is no count");
  return static_cast<double>(reply.integer);
}

// `pairs` is a list of names and values. Null: it lacks `name`.
const RedisReply* FindValue(const RedisReply& pairs, absl::string_view name) {
  for (size_t i = 0; i + 1 < pairs.list.size(); i += 2) {
    if (pairs.list[i].text == name) return &pairs.list[i + 1];
  }
  return nullptr;
}

// Returns null if the stream has no such group.
const RedisReply* FindGroup(const RedisReply& groups, absl::string_view name) {
  const auto found = std::ranges::find_if(groups.list, [&](const RedisReply& group) {
    const RedisReply* const found_name = FindValue(group, "name");
    return found_name != nullptr && found_name->text == name;
  });
  return found == groups.list.end() ? nullptr : &*found;
}

// Returns nullopt if the value is missing, nil or negative.
std::optional<int64_t> NumberIn(const RedisReply& pairs, absl::string_view name) {
  const RedisReply* const value = FindValue(pairs, name);
  const bool is_reported = value != nullptr && value->kind == Kind::kInteger && value->integer >= 0;
  return is_reported ? std::optional(value->integer) : std::nullopt;
}

std::optional<StreamId> IdIn(const RedisReply& pairs, absl::string_view name) {
  const RedisReply* const value = FindValue(pairs, name);
  return value == nullptr ? std::nullopt : ParseStreamId(value->text);
}

// The size is approximate: the protocol takes up to about 16 bytes around each text and list.
size_t BytesOf(const RedisReply& entry) {
  size_t bytes = entry.text.size() + 16;
  for (const RedisReply& part : entry.list) bytes += BytesOf(part);
  return bytes;
}

// Returns how many entries XRANGE may list, by the larger one of the stream's first and last entry.
int RangeLimit(const RedisReply& stream) {
  size_t largest = 1;
  for (const absl::string_view name : {"first-entry", "last-entry"}) {
    if (const RedisReply* const entry = FindValue(stream, name)) {
      largest = std::max(largest, BytesOf(*entry));
    }
  }
  return static_cast<int>(std::clamp<size_t>(kMaxRangeBytes / largest, 1, kMaxRangeEntries));
}

// Returns true if `last_read` is the stream's last existing entry, or later. last-generated-id
// cannot show that: it may belong to a deleted entry.
bool HasReadAll(const RedisReply& stream, StreamId last_read) {
  const RedisReply* const last = FindValue(stream, "last-entry");
  if (last == nullptr) return false;
  if (last->list.empty()) return last->kind == Kind::kNil;
  const std::optional<StreamId> id = ParseStreamId(last->list.front().text);
  return id.has_value() && *id <= last_read;
}

// Requests up to `count` entries after the last one read.
RedisStep ListUnread(const RedisQueue& queue, int count, RedisLag& lag) {
  lag.range_count = count;
  return {.commands = {RedisCommand{"XRANGE", queue.key, absl::StrCat("(", lag.last_text), "+",
                                    "COUNT", absl::StrCat(count)}}};
}

// Names are chosen by tenants and may have any bytes and length.
std::string NameText(absl::string_view name) { return PrintableText(name, 60); }

// Lists other groups, because a mistyped name looks like workers that have not started yet.
std::string NoGroupText(const RedisQueue& queue, const RedisReply& groups) {
  constexpr size_t kNamed = 5;
  std::vector<std::string> others;
  for (const RedisReply& group : groups.list) {
    const RedisReply* const name = FindValue(group, "name");
    if (name != nullptr && others.size() < kNamed) others.push_back(NameText(name->text));
  }
  return absl::StrCat(
      "stream ", NameText(queue.key), " has no group ", NameText(queue.group),
      others.empty()
          ? ", nor any other"
          : absl::StrCat(", but ", ListText(others, kNamed, groups.list.size() - others.size())),
      ": all its entries wait");
}

RedisStep AfterGroups(const RedisQueue& queue, const RedisReply& groups, RedisLag& lag,
                      RedisReadMarks& marks) {
  if (groups.kind == Kind::kError) return {.length = RedisFault(groups.text)};
  if (groups.kind != Kind::kList) return {.length = NotRedis("it lists no groups")};
  const RedisReply* const group = FindGroup(groups, queue.group);
  if (group == nullptr) return {.length = lag.entries, .note = NoGroupText(queue, groups)};
  const RedisReply* const reported = FindValue(*group, "lag");
  if (reported == nullptr) {
    return {.length = absl::FailedPreconditionError(
                "this Redis does not report the lag of a group: that takes Redis 7")};
  }
  const std::optional<StreamId> last = IdIn(*group, "last-delivered-id");
  const std::optional<int64_t> entries_read = NumberIn(*group, "entries-read");
  if (last.has_value() && entries_read.has_value()) marks.Record(*last, *entries_read);
  // If unread entries were trimmed, Redis' own number is too large.
  if (reported->kind == Kind::kInteger) {
    lag.reported = std::clamp(static_cast<double>(reported->integer), 0.0, lag.entries);
    // Redis reports no lag of a group created at `$` once an entry waits for it. The mark that
    // bounds that lag must be recorded before, from XINFO STREAM.
    const bool will_be_unknown = *lag.reported == 0 && last.has_value() && !marks.Has(*last) &&
                                 !marks.is_stream_info_too_large();
    if (!will_be_unknown) return {.length = *lag.reported};
  } else {
    const std::optional<int64_t> pending = NumberIn(*group, "pending");
    if (!pending.has_value()) return {.length = NotRedis("its group has no pending count")};
    if (!last.has_value()) return {.length = NotRedis("its group has no last-delivered-id")};
    lag.pending = static_cast<double>(*pending);
    lag.last_text = FindValue(*group, "last-delivered-id")->text;
  }
  lag.last = *last;
  // Entries are large: two of them exceed a reply.
  if (marks.is_stream_info_too_large()) return ListUnread(queue, 1, lag);
  return {.commands = {RedisCommand{"XINFO", "STREAM", queue.key}}};
}

RedisStep AfterStream(const RedisQueue& queue, const RedisReply& stream, RedisLag& lag,
                      RedisReadMarks& marks) {
  if (stream.kind == Kind::kError) return {.length = RedisFault(stream.text)};
  if (stream.kind != Kind::kList) return {.length = NotRedis("its answer describes no stream")};
  const std::optional<StreamId> end = IdIn(stream, "last-generated-id");
  const std::optional<int64_t> added = NumberIn(stream, "entries-added");
  if (end.has_value() && added.has_value()) marks.Record(*end, *added);
  if (lag.reported.has_value()) return {.length = *lag.reported};
  if (HasReadAll(stream, lag.last)) return {.length = 0.0};
  const std::optional<int64_t> read = marks.AddedUpTo(lag.last);
  if (added.has_value() && read.has_value()) {
    lag.at_most = std::clamp(static_cast<double>(*added - *read), 1.0, lag.entries);
  }
  const int count = RangeLimit(stream);
  const bool is_exact_unless_deleted = lag.at_most.has_value() && marks.Has(lag.last);
  // Too high only by deleted entries. XRANGE could not list that many.
  if (is_exact_unless_deleted && *lag.at_most > count) return {.length = *lag.at_most};
  return ListUnread(queue, count, lag);
}

RedisStep AfterRange(const RedisReply& range, const RedisLag& lag) {
  if (range.kind == Kind::kError) return {.length = RedisFault(range.text)};
  if (range.kind != Kind::kList) return {.length = NotRedis("it lists no entries")};
  const auto listed = static_cast<double>(range.list.size());
  if (listed < *lag.range_count) return {.length = listed};
  // The list is cut off. Pending entries have been read, so they are not part of the lag.
  return {.length = std::max(listed, lag.at_most.value_or(lag.entries - lag.pending))};
}

constexpr size_t kLagFirstReplies = 2;  // to XLEN and XINFO GROUPS

// Handles the replies to XLEN and XINFO GROUPS, then XINFO STREAM and XRANGE if they were sent.
// Moves the newest reply out of `replies`, so that its memory is freed before the next reply
// arrives.
RedisStep LagStep(const RedisQueue& queue, std::vector<RedisReply>& replies, RedisLag& lag,
                  RedisReadMarks& marks) {
  const RedisReply newest = std::exchange(replies.back(), RedisReply());
  if (replies.size() > kLagFirstReplies && lag.range_count) return AfterRange(newest, lag);
  if (replies.size() > kLagFirstReplies) return AfterStream(queue, newest, lag, marks);
  const absl::StatusOr<double> entries = CountOf(replies[0]);
  if (!entries.ok() || *entries == 0) return {.length = entries};
  lag = {.entries = *entries};
  return AfterGroups(queue, newest, lag, marks);
}

RedisStep PendingStep(const RedisQueue& queue, const RedisReply& reply) {
  if (reply.kind == Kind::kError && absl::StartsWith(reply.text, "NOGROUP")) {
    return {.length = 0.0,
            .note = absl::StrCat("stream ", NameText(queue.key), " has no group ",
                                 NameText(queue.group), ": none of its entries is pending")};
  }
  if (reply.kind == Kind::kError) return {.length = RedisFault(reply.text)};
  if (reply.kind != Kind::kList || reply.list.empty()) {
    return {.length = NotRedis("its answer has no number of pending entries")};
  }
  return {.length = CountOf(reply.list.front())};
}

std::vector<RedisCommand> FirstCommands(const RedisQueue& queue) {
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

void RecordUnreadable(size_t replies, RedisReadMarks& marks) {
  // The next reply is that to XINFO STREAM.
  if (replies == kLagFirstReplies) marks.SetStreamInfoTooLarge();
}

RedisStep NextStep(const RedisQueue& queue, std::vector<RedisReply>& replies, RedisLag& lag,
                   RedisReadMarks& marks) {
  std::vector<RedisCommand> first = FirstCommands(queue);
  if (replies.size() < first.size()) return {.commands = std::move(first)};
  if (queue.length == Length::kLag) return LagStep(queue, replies, lag, marks);
  if (queue.length == Length::kPending) return PendingStep(queue, replies[0]);
  return {.length = CountOf(replies[0])};
}

}  // namespace gpuscaler
