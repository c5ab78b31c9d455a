#include "wire/grpc_text.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gpuscaler {
namespace {

constexpr size_t kMaxDigits = 8;
constexpr int64_t kMaxUnits = 99'999'999;

// The finest first.
constexpr std::pair<absl::string_view, absl::Duration> kUnits[] = {
    {"n", absl::Nanoseconds(1)}, {"u", absl::Microseconds(1)}, {"m", absl::Milliseconds(1)},
    {"S", absl::Seconds(1)},     {"M", absl::Minutes(1)},      {"H", absl::Hours(1)}};

bool StaysAsItIs(char byte) { return byte >= 0x20 && byte <= 0x7E && byte != '%'; }

bool IsHexDigit(char byte) { return absl::ascii_isxdigit(static_cast<unsigned char>(byte)); }

}  // namespace

std::optional<absl::Duration> ParseGrpcTimeout(absl::string_view text) {
  if (text.size() < 2 || text.size() > kMaxDigits + 1) return std::nullopt;
  const absl::string_view letter = text.substr(text.size() - 1);
  const auto* const unit =
      std::ranges::find(kUnits, letter, &std::pair<absl::string_view, absl::Duration>::first);
  text.remove_suffix(1);
  int64_t count = 0;
  for (const char digit : text) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(digit))) return std::nullopt;
    count = 10 * count + (digit - '0');
  }
  if (unit == std::end(kUnits)) return std::nullopt;
  return count * unit->second;
}

std::string GrpcTimeout(absl::Duration timeout) {
  if (timeout <= absl::ZeroDuration()) return "0n";
  for (const auto& [letter, unit] : kUnits) {
    const int64_t units = absl::Ceil(timeout, unit) / unit;
    if (units <= kMaxUnits) return absl::StrCat(units, letter);
  }
  return absl::StrCat(kMaxUnits, "H");
}

std::string PercentEncoded(absl::string_view text) {
  std::string encoded;
  encoded.reserve(text.size());
  for (const char byte : text) {
    if (StaysAsItIs(byte))
      encoded += byte;
    else
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(byte));
  }
  return encoded;
}

std::string PercentDecoded(absl::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() && IsHexDigit(text[i + 1]) && IsHexDigit(text[i + 2]);
    if (!is_escape) {
      decoded += text[i];
      continue;
    }
    decoded += absl::HexStringToBytes(text.substr(i + 1, 2));
    i += 2;
  }
  return decoded;
}

std::string GrpcCode(absl::StatusCode code) { return absl::StrCat(static_cast<int>(code)); }

absl::Status StatusOfTrailers(absl::string_view code, absl::string_view percent_encoded_message) {
  int number = -1;
  if (!absl::SimpleAtoi(code, &number)) number = static_cast<int>(absl::StatusCode::kUnknown);
  if (number == 0) return absl::OkStatus();
  const bool is_known =
      number >= 0 && number <= static_cast<int>(absl::StatusCode::kUnauthenticated);
  std::string message = PercentDecoded(percent_encoded_message);
  if (message.empty()) message = "no reason was given";
  return absl::Status(is_known ? static_cast<absl::StatusCode>(number) : absl::StatusCode::kUnknown,
                      message);
}

absl::Status StatusOfHttp(int http_status) {
  absl::StatusCode code = absl::StatusCode::kUnknown;
  if (http_status == 400) code = absl::StatusCode::kInternal;
  if (http_status == 401) code = absl::StatusCode::kUnauthenticated;
  if (http_status == 403) code = absl::StatusCode::kPermissionDenied;
  if (http_status == 404) code = absl::StatusCode::kUnimplemented;
  if (http_status == 429 || http_status == 502 || http_status == 503 || http_status == 504) {
    code = absl::StatusCode::kUnavailable;
  }
  return absl::Status(code,
                      absl::StrCat("the answer is HTTP ", http_status, ", without grpc-status"));
}

}  // namespace gpuscaler
