#include "signal/redis_read_marks.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace gpuscaler {
namespace {

// With a mark every 200 ms, and every other one dropped at this size, marks of the last hours are
// minutes apart. A lag can be wrong by the entries added between two marks.
constexpr size_t kMaxMarks = 256;

}  // namespace

std::optional<StreamId> ParseStreamId(absl::string_view text) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits('-', 1));
  StreamId id;
  if (!absl::SimpleAtoi(parts.first, &id.milliseconds)) return std::nullopt;
  if (!absl::SimpleAtoi(parts.second, &id.sequence)) return std::nullopt;
  return id;
}

void RedisReadMarks::Record(StreamId id, int64_t added) {
  std::erase_if(marks_, [&](const Mark& mark) {
    return mark.id < id ? mark.added > added : mark.added < added;  // the stream was recreated
  });
  const auto place = std::ranges::lower_bound(marks_, id, {}, &Mark::id);
  if (place != marks_.end() && place->id == id) {
    place->added = added;
    return;
  }
  marks_.insert(place, {.id = id, .added = added});
  if (marks_.size() <= kMaxMarks) return;
  size_t kept = 0;
  for (size_t i = 0; i < marks_.size(); i += 2) marks_[kept++] = marks_[i];
  marks_.resize(kept);
}

std::optional<int64_t> RedisReadMarks::AddedUpTo(StreamId id) {
  const auto after = std::ranges::upper_bound(marks_, id, {}, &Mark::id);
  if (after == marks_.begin()) return std::nullopt;
  marks_.erase(marks_.begin(), after - 1);
  return marks_.front().added;
}

bool RedisReadMarks::Has(StreamId id) const {
  return std::ranges::binary_search(marks_, id, {}, &Mark::id);
}

}  // namespace gpuscaler
