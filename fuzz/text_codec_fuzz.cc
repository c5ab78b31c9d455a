// Texts that are written and read back: gRPC's header fields, durations, and the documents that the
// command line reads from the web port. Each input is read as all of them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/match.h"
#include "app/web_document.h"
#include "base/duration_text.h"
#include "fuzz_assert.h"
#include "wire/grpc_text.h"

namespace gpuscaler {
namespace {

void CheckPercent(absl::string_view text) {
  const std::string encoded = PercentEncoded(text);
  FUZZ_ASSERT(std::ranges::all_of(encoded, [](char c) { return c >= ' ' && c <= '~'; }));
  FUZZ_ASSERT(PercentDecoded(encoded) == text);
  FUZZ_ASSERT(PercentDecoded(text).size() <= text.size());
  FUZZ_ASSERT(StatusOfTrailers("5", encoded).message() ==
              (text.empty() ? "no reason was given" : text));
}

// absl::Duration counts quarters of a nanosecond.
absl::Duration DurationIn(absl::string_view text) {
  std::array<int64_t, 2> read = {};
  std::memcpy(read.data(), text.data(), std::min(text.size(), sizeof(read)));
  return absl::Seconds(read[0] >> (read[1] & 63)) + absl::Nanoseconds(read[1] >> 32) / 4;
}

void CheckDuration(absl::Duration duration) {
  const std::string field = GrpcTimeout(duration);
  const auto timeout = ParseGrpcTimeout(field);
  FUZZ_ASSERT(timeout.has_value() && field.size() <= 9);
  FUZZ_ASSERT(*timeout >= std::min(duration, absl::Hours(99'999'999)));
  if (duration < absl::ZeroDuration() || duration == absl::InfiniteDuration()) return;
  FUZZ_ASSERT(*timeout <= std::max(duration + absl::Nanoseconds(1), duration * 1.0001));
  const auto again = ParseDuration(DurationText(duration));
  FUZZ_ASSERT(again.ok() && *again == duration);
}

void CheckTexts(absl::string_view text) {
  const auto timeout = ParseGrpcTimeout(text);
  if (timeout) FUZZ_ASSERT(*timeout >= absl::ZeroDuration() && *timeout <= absl::Hours(99'999'999));
  if (timeout) CheckDuration(*timeout);
  const auto duration = ParseDuration(text);
  if (duration.ok()) CheckDuration(*duration);
}

// Returns the levels of JSON; 0 if it is no object. nlohmann parses any depth.
int LevelsOf(const std::string& json) {
  int levels = 0;
  const auto count = [&](int depth, WebDocument::parse_event_t event, WebDocument& /*parsed*/) {
    const bool begins = event == WebDocument::parse_event_t::object_start ||
                        event == WebDocument::parse_event_t::array_start;
    if (begins) levels = std::max(levels, depth + 1);
    return true;
  };
  return WebDocument::parse(json, count, false).is_object() ? levels : 0;
}

void CheckDocument(const std::string& json) {
  const auto document = WebDocumentOf(HttpAnswer{.status = 200, .body = json});
  const int levels = absl::StrContains(json, '\0') ? 0 : LevelsOf(json);
  FUZZ_ASSERT(document.ok() == (levels >= 1 && levels <= 32));
  const auto error = WebDocumentOf(HttpAnswer{.status = 404, .body = json});
  FUZZ_ASSERT(absl::IsNotFound(error.status()) && error.status().message().size() <= 1003);
  if (!document.ok()) return;
  const WebDocument copy = *document;
  FUZZ_ASSERT(WebDocument::parse(copy.dump()) == copy);
  int fields = 0;
  for (const auto& [name, value] : copy.items()) {
    if (++fields > 10) break;  // the time to find all is quadratic
    FUZZ_ASSERT(TextOf(copy, name).empty() || value.is_string());
    FUZZ_ASSERT(NumbersOf(copy, name).size() == (value.is_array() ? value.size() : 0));
    FUZZ_ASSERT(NumberOf(copy, name).has_value() == value.is_number());
    FUZZ_ASSERT(TimeOf(copy, name).has_value() == value.is_number());
    FUZZ_ASSERT(!BoolOf(copy, name) || value.is_boolean());
  }
}

}  // namespace
}  // namespace gpuscaler

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  gpuscaler::CheckPercent(text);
  gpuscaler::CheckDuration(gpuscaler::DurationIn(text));
  gpuscaler::CheckTexts(text);
  gpuscaler::CheckDocument(std::string(text));
  return 0;
}
