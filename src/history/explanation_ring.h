// The newest explanations of all triggers within a fixed amount of memory, oldest out first.
//
// Explanations of one trigger resemble each other. Each is therefore compressed with an earlier one
// of its trigger as the dictionary: about 150 bytes instead of 2,000. That one is compressed alone.
// It is replaced before it is older than an eighth of the ring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace gpuscaler {

// Not thread-safe.
class ExplanationRing {
 public:
  // The place of a record.
  struct Place {
    uint32_t block = 0;  // number since the start; 0: none
    uint32_t offset = 0;
  };
  // The end of a trigger's chain of records, from which the earlier ones are found.
  struct Newest {
    Place place;
    Place dictionary;
    absl::Time at = absl::InfinitePast();
  };
  struct Found {
    absl::Time at;
    std::string text;
  };

  explicit ExplanationRing(size_t limit_bytes);
  ~ExplanationRing();

  // Requires `at` not to be earlier than `newest.at`.
  void Append(absl::Time at, absl::string_view text, Newest& newest);

  // Returns the newest record at or before `at`. Returns nullopt if there was none, or if it is no
  // longer kept.
  std::optional<Found> FindAt(const Newest& newest, absl::Time at) const;

  // Returns the times of the kept records from `from` to `to`, oldest first.
  std::vector<absl::Time> Times(const Newest& newest, absl::Time from, absl::Time to) const;

  // Drops blocks with no record since `time`.
  void DropBefore(absl::Time time);

  // Returns the bytes on the heap, the compressor included.
  size_t bytes() const;

 private:
  class Compressor;
  struct Block {
    std::string bytes;  // records
    absl::Time newest_at;
  };
  struct Record {
    absl::Time at;
    Place before;      // the trigger's record before
    Place dictionary;  // none: compressed alone
    absl::string_view compressed;
  };
  bool Has(Place place) const;
  Record At(Place place) const;
  std::string TextOf(const Record& record) const;
  void DropOldest();

  const size_t limit_bytes_;
  std::unique_ptr<Compressor> compressor_;
  std::deque<Block> blocks_;
  uint32_t first_block_ = 1;  // number of the oldest one
  size_t block_bytes_ = 0;    // capacity of all blocks
};

}  // namespace gpuscaler
