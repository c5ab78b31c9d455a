#include "page/sample_line.h"

#include <array>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

enum Place : unsigned char { kLabelStart = 1, kLabelPart = 2, kNameStart = 4, kNamePart = 8 };

// The places where each character is allowed. Metric names may have colons, label names may not.
constexpr std::array<unsigned char, 256> Places() {
  std::array<unsigned char, 256> places = {};
  constexpr unsigned char kAnywhere = kLabelStart | kLabelPart | kNameStart | kNamePart;
  for (unsigned c = 'a'; c <= 'z'; ++c) places[c] = kAnywhere;
  for (unsigned c = 'A'; c <= 'Z'; ++c) places[c] = kAnywhere;
  for (unsigned c = '0'; c <= '9'; ++c) places[c] = kLabelPart | kNamePart;
  places['_'] = kAnywhere;
  places[':'] = kNameStart | kNamePart;
  return places;
}
constexpr std::array<unsigned char, 256> kPlaces = Places();

// Parses one line from left to right. Errors name the expected token and its position, and never
// repeat the input: a tenant's URL may point at another server's data, and KEDA's events show the
// error.
class SampleLine {
 public:
  explicit SampleLine(absl::string_view line)
      : begin_(line.data()), at_(line.data()), end_(line.data() + line.size()) {}

  absl::StatusOr<ExpositionSample> Sample(SampleLabels& labels, SampleLabels& scratch) {
    ExpositionSample sample;
    RETURN_IF_ERROR(Name(&sample.name));
    size_t count = 0;
    RETURN_IF_ERROR(Labels(labels, &count));
    sample.labels = std::span(labels).first(count);
    RETURN_IF_ERROR(Number("value", &sample.value));
    RETURN_IF_ERROR(Tail(scratch));
    return sample;
  }

 private:
  absl::Status Name(absl::string_view* name) {
    SkipBlanks();
    const char* const from = at_;
    *name = Word(kNameStart, kNamePart);
    if (!name->empty() && (at_ == end_ || IsBlank(*at_) || *at_ == '{')) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("name of a metric expected ", Position(from),
                     from != end_ && *from == '<' ? ", where HTML begins" : ""));
  }

  // Consumes a word of characters that are allowed there. Returns "" if none begins here.
  absl::string_view Word(Place start, Place part) {
    const char* const from = at_;
    if (at_ != end_ && IsAllowed(start)) {
      do ++at_;
      while (at_ != end_ && IsAllowed(part));
    }
    return {from, static_cast<size_t>(at_ - from)};
  }

  // Consumes labels in braces, if any.
  absl::Status Labels(SampleLabels& labels, size_t* count) {
    *count = 0;
    SkipBlanks();
    if (!Skip('{')) return absl::OkStatus();
    while (true) {
      SkipBlanks();
      if (Skip('}')) return absl::OkStatus();
      if (*count == labels.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("a sample with more than ", kMaxLabels, " labels"));
      }
      RETURN_IF_ERROR(Label(labels[(*count)++]));
      SkipBlanks();
      if (!Skip(',') && (at_ == end_ || *at_ != '}')) {
        return absl::InvalidArgumentError(
            absl::StrCat("labels without an end: \",\" or \"}\" expected ", Position(at_)));
      }
    }
  }

  // No blank is required before it: Prometheus accepts `{a="b"}1` too.
  absl::Status Number(absl::string_view what, double* number) {
    SkipBlanks();
    const char* const from = at_;
    while (at_ != end_ && !IsBlank(*at_)) ++at_;
    const absl::string_view text(from, static_cast<size_t>(at_ - from));
    const std::optional<double> parsed = ParseSampleValue(text);
    if (!parsed.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(what, " expected ", Position(from)));
    }
    *number = *parsed;
    return absl::OkStatus();
  }

  // Validates timestamp and exemplar. Neither changes the value.
  absl::Status Tail(SampleLabels& scratch) {
    double ignored = 0;
    size_t count = 0;
    if (HasText() && *at_ != '#') RETURN_IF_ERROR(Number("timestamp", &ignored));
    if (HasText() && Skip('#')) {
      SkipBlanks();
      if (at_ == end_ || *at_ != '{') {
        return absl::InvalidArgumentError("exemplar without labels");
      }
      RETURN_IF_ERROR(Labels(scratch, &count));
      RETURN_IF_ERROR(Number("value of the exemplar", &ignored));
      if (HasText()) RETURN_IF_ERROR(Number("timestamp of the exemplar", &ignored));
    }
    if (!HasText()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("end of the line expected ", Position(at_)));
  }

  bool HasText() {
    SkipBlanks();
    return at_ != end_;
  }
  bool IsAllowed(Place place) const {
    return (kPlaces[static_cast<unsigned char>(*at_)] & place) != 0;
  }
  void SkipBlanks() {
    while (at_ != end_ && IsBlank(*at_)) ++at_;
  }
  bool Skip(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  std::string Position(const char* at) const {
    return at == end_ ? "at the end" : absl::StrCat("at character ", at - begin_ + 1);
  }

  absl::Status Label(ExpositionLabel& label) {
    label.name = Word(kLabelStart, kLabelPart);
    if (label.name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("name of a label expected ", Position(at_)));
    }
    SkipBlanks();
    const bool assigned = Skip('=');
    SkipBlanks();
    if (!assigned || !Skip('"')) {
      return absl::InvalidArgumentError(
          absl::StrCat("=\"value\" of a label expected ", Position(at_)));
    }
    const char* const from = at_;
    while (at_ != end_ && *at_ != '"') at_ += *at_ == '\\' && end_ - at_ > 1 ? 2 : 1;
    label.escaped_value = {from, static_cast<size_t>(at_ - from)};
    if (!Skip('"')) {
      return absl::InvalidArgumentError(
          absl::StrCat("value of a label without closing quote ", Position(from - 1)));
    }
    if (IsUtf8(label.escaped_value)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("value of a label that is not UTF-8 ", Position(from - 1)));
  }

  const char* const begin_;
  const char* at_;
  const char* const end_;
};

}  // namespace

absl::StatusOr<ExpositionSample> ReadSampleLine(absl::string_view line, SampleLabels& labels,
                                                SampleLabels& scratch) {
  return SampleLine(line).Sample(labels, scratch);
}

}  // namespace gpuscaler
