#include "web/gzip.h"

#include <zlib.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gpuscaler {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: 32 KiB, with gzip's header
constexpr int kGzipMemoryLevel = 8;   // zlib's default

Bytef* InputOf(absl::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

// Returns the weight of an item such as "gzip;q=0.5"; 1 if it has none.
double WeightOf(absl::string_view parameters) {
  for (absl::string_view parameter : absl::StrSplit(parameters, ';')) {
    parameter = absl::StripAsciiWhitespace(parameter);
    double weight = 0;
    if (!absl::ConsumePrefix(&parameter, "q=")) continue;
    return absl::SimpleAtod(parameter, &weight) ? weight : 0;
  }
  return 1;
}

}  // namespace

std::string Gzip(absl::string_view bytes) {
  z_stream stream = {};
  std::string out;
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kGzipMemoryLevel,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return out;
  }
  out.resize(deflateBound(&stream, bytes.size()));
  stream.next_in = InputOf(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

absl::StatusOr<std::string> Gunzip(absl::string_view bytes, size_t max_bytes) {
  z_stream stream = {};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) return absl::ResourceExhaustedError("zlib");
  stream.next_in = InputOf(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int result = Z_OK;
  while (result == Z_OK && out.size() <= max_bytes) {
    char piece[16 * 1024];
    stream.next_out = reinterpret_cast<Bytef*>(piece);
    stream.avail_out = sizeof(piece);
    result = inflate(&stream, Z_NO_FLUSH);
    out.append(piece, sizeof(piece) - stream.avail_out);
  }
  inflateEnd(&stream);
  if (result != Z_STREAM_END) return absl::InvalidArgumentError("no whole gzip stream");
  if (out.size() > max_bytes) return absl::InvalidArgumentError("expands to too many bytes");
  return out;
}

bool AcceptsGzip(absl::string_view accept_encoding) {
  double weight_of_others = 0;
  for (const absl::string_view item : absl::StrSplit(accept_encoding, ',')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(item, absl::MaxSplits(';', 1));
    const absl::string_view coding = absl::StripAsciiWhitespace(parts.first);
    if (absl::EqualsIgnoreCase(coding, "gzip")) return WeightOf(parts.second) > 0;
    if (coding == "*") weight_of_others = WeightOf(parts.second);
  }
  return weight_of_others > 0;
}

}  // namespace gpuscaler
