// The newest explanations of all triggers within a fixed amount of memory, oldest out first.
//
// Explanations of one trigger resemble each other. The dictionary of each record is therefore an
// earlier record of its trigger, which makes it several times smaller. The dictionary itself is
// compressed alone, and is replaced before it is older than an eighth of the ring.
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
  struct Chain {
    Place newest;
    Place dictionary;  // that of the next record; none: it is compressed alone
  };
  struct Found {
    absl::Time at;
    std::string text;
  };

  explicit ExplanationRing(size_t limit_bytes);
  ~ExplanationRing();

  // Requires `at` not to be earlier than that of any record before. Drops the oldest records if the
  // ring is full.
  void Append(absl::Time at, absl::string_view text, Chain& chain);

  // Returns the chain's newest record at or before `at`. Returns nullopt if there was none, or if
  // it is no longer kept.
  std::optional<Found> FindAt(const Chain& chain, absl::Time at) const;

  // Returns the times of the chain's kept records from `from` to `to`, oldest first.
  std::vector<absl::Time> Times(const Chain& chain, absl::Time from, absl::Time to) const;

  // Drops the blocks with no record at or after `time`.
  void DropBefore(absl::Time time);

  // Bytes on the heap, those of the compressor included.
  size_t bytes() const;

 private:
  class Compressor;
  struct Block {
    std::string bytes;  // records
    absl::Time newest_at;
  };
  struct Header {
    int64_t at_ns;  // since the epoch
    Place before;   // the chain's record before
    Place dictionary;
    uint32_t text_bytes;
    uint32_t compressed_bytes;  // these follow the header
  };
  bool Has(Place place) const { return place.block >= first_block_ && place.block > 0; }
  // Returns true if a record with this dictionary can be read.
  bool HasDictionary(const Header& header) const {
    return header.dictionary.block == 0 || Has(header.dictionary);
  }
  // All three require a record that the ring has.
  Header HeaderAt(Place place) const;
  absl::string_view CompressedAt(Place place, const Header& header) const;
  std::string TextAt(Place place) const;

  std::string Compress(absl::string_view text, Chain& chain) const;
  void DropOldest();

  const size_t limit_bytes_;
  const size_t block_bytes_;
  const std::unique_ptr<Compressor> compressor_;
  std::deque<Block> blocks_;  // oldest first
  uint32_t first_block_ = 1;  // number of the oldest block
  size_t bytes_ = 0;          // capacity of all blocks
};

}  // namespace gpuscaler
