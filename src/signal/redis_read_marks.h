// How far a consumer group has read, for groups with a lag that Redis cannot report.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// The id of an entry: "1700000000000-3".
struct StreamId {
  uint64_t milliseconds = 0;
  uint64_t sequence = 0;

  friend auto operator<=>(const StreamId&, const StreamId&) = default;
};
std::optional<StreamId> ParseStreamId(absl::string_view text);  // nullopt: no id

// A mark is an id and the number of entries added to the stream up to it, including deleted and
// trimmed ones. A group that has read up to that id has read at least that many. Not thread-safe.
class RedisReadMarks {
 public:
  // Adds a mark. Drops marks that contradict it: the stream was recreated.
  void Record(StreamId id, int64_t added);

  // Returns the number at the last mark up to `id`, or nullopt. Drops earlier marks, because groups
  // only read forward.
  std::optional<int64_t> AddedUpTo(StreamId id);

  bool Has(StreamId id) const;

  // The reply to XINFO STREAM is too large to decode. Marks then come from XINFO GROUPS alone.
  void SetStreamInfoTooLarge() { is_stream_info_too_large_ = true; }
  bool is_stream_info_too_large() const { return is_stream_info_too_large_; }

  size_t size() const { return marks_.size(); }

 private:
  struct Mark {
    StreamId id;
    int64_t added;
  };
  std::vector<Mark> marks_;  // sorted by id
  bool is_stream_info_too_large_ = false;
};

}  // namespace gpuscaler
