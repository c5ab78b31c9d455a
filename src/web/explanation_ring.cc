#include "web/explanation_ring.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace gpuscaler {
namespace {

constexpr size_t kBlockBytes = size_t{64} << 10;
// A full ring has at least this number of blocks.
constexpr size_t kFewestBlocks = 32;
// A dictionary is replaced after this part of the ring, so that its loss costs little.
constexpr size_t kDictionaryPart = 8;

// A window of 16 KiB: an explanation of 4 replicas has 2 KiB.
constexpr int kRawWindowBits = -14;
constexpr int kMemoryLevel = 7;
// zlib's own figures (zconf.h), for both directions.
constexpr size_t kCompressorBytes = (size_t{1} << (14 + 2)) + (size_t{1} << (kMemoryLevel + 9)) +
                                    (size_t{1} << 14) + (size_t{14} << 10);

const Bytef* BytesOfText(absl::string_view text) {
  return reinterpret_cast<const Bytef*>(text.data());
}

uInt SizeOfText(absl::string_view text) { return static_cast<uInt>(text.size()); }

}  // namespace

// zlib's deflate and inflate without a header. They fail only if memory runs out or if a caller
// breaks their contract.
class ExplanationRing::Compressor {
 public:
  Compressor() {
    deflateInit2(&deflate_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kRawWindowBits, kMemoryLevel,
                 Z_DEFAULT_STRATEGY);
    inflateInit2(&inflate_, kRawWindowBits);
  }
  ~Compressor() {
    deflateEnd(&deflate_);
    inflateEnd(&inflate_);
  }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  std::string Deflate(absl::string_view text, absl::string_view dictionary) {
    deflateReset(&deflate_);
    if (!dictionary.empty()) {
      deflateSetDictionary(&deflate_, BytesOfText(dictionary), SizeOfText(dictionary));
    }
    std::string compressed(deflateBound(&deflate_, text.size()), '\0');
    deflate_.next_in = const_cast<Bytef*>(BytesOfText(text));  // zlib only reads it
    deflate_.avail_in = SizeOfText(text);
    deflate_.next_out = reinterpret_cast<Bytef*>(compressed.data());
    deflate_.avail_out = SizeOfText(compressed);
    deflate(&deflate_, Z_FINISH);
    compressed.resize(compressed.size() - deflate_.avail_out);
    return compressed;
  }

  std::string Inflate(absl::string_view compressed, absl::string_view dictionary,
                      size_t text_bytes) {
    inflateReset(&inflate_);
    if (!dictionary.empty()) {
      inflateSetDictionary(&inflate_, BytesOfText(dictionary), SizeOfText(dictionary));
    }
    std::string text(text_bytes, '\0');
    inflate_.next_in = const_cast<Bytef*>(BytesOfText(compressed));  // zlib only reads it
    inflate_.avail_in = SizeOfText(compressed);
    inflate_.next_out = reinterpret_cast<Bytef*>(text.data());
    inflate_.avail_out = SizeOfText(text);
    inflate(&inflate_, Z_FINISH);
    text.resize(text.size() - inflate_.avail_out);
    return text;
  }

 private:
  z_stream deflate_ = {};
  z_stream inflate_ = {};
};

ExplanationRing::ExplanationRing(size_t limit_bytes)
    : limit_bytes_(limit_bytes),
      block_bytes_(std::min(kBlockBytes, limit_bytes / kFewestBlocks)),
      compressor_(std::make_unique<Compressor>()) {}

ExplanationRing::~ExplanationRing() = default;

void ExplanationRing::Append(absl::Time at, absl::string_view text, Chain& chain) {
  const std::string compressed = Compress(text, chain);
  const Header header{.at_ns = absl::ToUnixNanos(at),
                      .before = chain.newest,
                      .dictionary = chain.dictionary,
                      .text_bytes = static_cast<uint32_t>(text.size()),
                      .compressed_bytes = static_cast<uint32_t>(compressed.size())};
  const size_t record_bytes = sizeof(header) + compressed.size();
  const bool has_room = !blocks_.empty() && blocks_.back().bytes.size() + record_bytes <=
                                                blocks_.back().bytes.capacity();
  if (!has_room) {
    Block block;
    block.bytes.reserve(std::max(block_bytes_, record_bytes));
    bytes_ += block.bytes.capacity();
    blocks_.push_back(std::move(block));
    while (blocks_.size() > 1 && bytes_ > limit_bytes_) DropOldest();
  }
  Block& block = blocks_.back();
  block.newest_at = at;
  chain.newest = {.block = first_block_ + static_cast<uint32_t>(blocks_.size()) - 1,
                  .offset = static_cast<uint32_t>(block.bytes.size())};
  if (chain.dictionary.block == 0) chain.dictionary = chain.newest;
  block.bytes.append(reinterpret_cast<const char*>(&header), sizeof(header));
  block.bytes.append(compressed);
}

// Clears the chain's dictionary if the text is compressed alone.
std::string ExplanationRing::Compress(absl::string_view text, Chain& chain) const {
  if (Has(chain.dictionary)) {
    const size_t blocks_since = first_block_ + blocks_.size() - chain.dictionary.block;
    const bool is_old = blocks_since * block_bytes_ > limit_bytes_ / kDictionaryPart;
    if (!is_old) {
      std::string compressed = compressor_->Deflate(text, TextAt(chain.dictionary));
      const bool is_alike =
          compressed.size() <= HeaderAt(chain.dictionary).compressed_bytes * size_t{2} / 3;
      if (is_alike) return compressed;
    }
  }
  chain.dictionary = Place();
  return compressor_->Deflate(text, "");
}

ExplanationRing::Header ExplanationRing::HeaderAt(Place place) const {
  Header header;
  const std::string& bytes = blocks_[place.block - first_block_].bytes;
  std::memcpy(&header, bytes.data() + place.offset, sizeof(header));
  return header;
}

absl::string_view ExplanationRing::CompressedAt(Place place, const Header& header) const {
  const absl::string_view bytes = blocks_[place.block - first_block_].bytes;
  return bytes.substr(place.offset + sizeof(header), header.compressed_bytes);
}

std::string ExplanationRing::TextAt(Place place) const {
  const Header header = HeaderAt(place);
  std::string dictionary;
  if (header.dictionary.block != 0) dictionary = TextAt(header.dictionary);
  return compressor_->Inflate(CompressedAt(place, header), dictionary, header.text_bytes);
}

std::optional<ExplanationRing::Found> ExplanationRing::FindAt(const Chain& chain,
                                                              absl::Time at) const {
  for (Place place = chain.newest; Has(place);) {
    const Header header = HeaderAt(place);
    const absl::Time recorded_at = absl::FromUnixNanos(header.at_ns);
    if (recorded_at <= at) {
      if (!HasDictionary(header)) return std::nullopt;
      return Found{.at = recorded_at, .text = TextAt(place)};
    }
    place = header.before;
  }
  return std::nullopt;
}

std::vector<absl::Time> ExplanationRing::Times(const Chain& chain, absl::Time from,
                                               absl::Time to) const {
  std::vector<absl::Time> times;
  for (Place place = chain.newest; Has(place);) {
    const Header header = HeaderAt(place);
    const absl::Time at = absl::FromUnixNanos(header.at_ns);
    if (at < from || !HasDictionary(header)) break;
    if (at <= to) times.push_back(at);
    place = header.before;
  }
  std::ranges::reverse(times);
  return times;
}

void ExplanationRing::DropBefore(absl::Time time) {
  while (!blocks_.empty() && blocks_.front().newest_at < time) DropOldest();
}

void ExplanationRing::DropOldest() {
  bytes_ -= blocks_.front().bytes.capacity();
  blocks_.pop_front();
  ++first_block_;
}

size_t ExplanationRing::bytes() const { return bytes_ + kCompressorBytes; }

}  // namespace gpuscaler
