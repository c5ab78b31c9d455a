// How far a consumer group has read, where Redis itself has lost count.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// "1700000000000-3" of an entry.
struct StreamId {
  uint64_t milliseconds = 0;
  uint64_t sequence = 0;

  friend auto operator<=>(const StreamId&, const StreamId&) = default;
};
std::optional<StreamId> ParseStreamId(absl::string_view text);  // empty: it is none

// How many entries a stream ever had up to some of its ids, deleted and trimmed ones too. A group
// whose last read entry is at or behind one has read that many at least. Not thread-safe.
class RedisReadMarks {
 public:
  // Marks that contradict it are forgotten: the stream was made anew.
  void Note(StreamId id, int64_t added);

  // At the last mark that is not behind `id`; empty: there is none. Those before it are forgotten:
  // groups read on.
  std::optional<int64_t> AddedUpTo(StreamId id);

  bool Has(StreamId id) const;

  // What tells marks is too large to be read: there will be none any more.
  void GiveUp() { given_up_ = true; }
  bool given_up() const { return given_up_; }

  size_t size() const { return marks_.size(); }

 private:
  struct Mark {
    StreamId id;
    int64_t added;
  };
  std::vector<Mark> marks_;  // by id
  bool given_up_ = false;
};

}  // namespace gpuscaler
