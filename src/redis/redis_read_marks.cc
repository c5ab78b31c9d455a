#include "redis/redis_read_marks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace gpuscaler {
namespace {

// With one each 200 ms and half of them dropped when there are as many, those of hours are minutes
// apart: what was added between two of them is all that a group's lag can be wrong by.
constexpr size_t kMostMarks = 256;

}  // namespace

std::optional<StreamId> ParseStreamId(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('-', 1));
  StreamId id;
  if (!absl::SimpleAtoi(parts.first, &id.milliseconds)) return std::nullopt;
  if (!absl::SimpleAtoi(parts.second, &id.sequence)) return std::nullopt;
  return id;
}

void RedisReadMarks::Note(StreamId id, int64_t added) {
  std::erase_if(marks_, [&](const Mark& mark) {
    return mark.id < id ? mark.added > added : mark.added < added;  // of another stream before
  });
  const auto place = std::ranges::lower_bound(marks_, id, {}, &Mark::id);
  if (place != marks_.end() && place->id == id) {
    place->added = added;
    return;
  }
  marks_.insert(place, {.id = id, .added = added});
  if (marks_.size() <= kMostMarks) return;
  size_t kept = 0;
  for (size_t i = 0; i < marks_.size(); i += 2) marks_[kept++] = marks_[i];
  marks_.resize(kept);
}

std::optional<int64_t> RedisReadMarks::AddedUpTo(StreamId id) {
  const auto behind = std::ranges::upper_bound(marks_, id, {}, &Mark::id);
  if (behind == marks_.begin()) return std::nullopt;
  marks_.erase(marks_.begin(), behind - 1);
  return marks_.front().added;
}

bool RedisReadMarks::Has(StreamId id) const {
  return std::ranges::binary_search(marks_, id, {}, &Mark::id);
}

}  // namespace gpuscaler
