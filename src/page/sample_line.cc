#include "page/sample_line.h"

#include <array>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

enum Place : unsigned char { kLabelStart = 1, kLabelPart = 2, kNameStart = 4, kNamePart = 8 };

// Where a character may stand: a metric's name may have colons, a label's none.
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

// One line, read from left to right. Each step says what is wrong where it cannot go on, and never
// what stands there: a name that a tenant chose may lead to somebody else's page, and whoever reads
// KEDA's events reads the error.
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
        absl::StrCat("name of a metric expected ", Where(from),
                     from != end_ && *from == '<' ? ", where HTML begins" : ""));
  }

  // A word whose characters may stand there. Empty: none begins here.
  absl::string_view Word(Place start, Place part) {
    const char* const from = at_;
    if (at_ != end_ && CanBe(start)) {
      do ++at_;
      while (at_ != end_ && CanBe(part));
    }
    return {from, static_cast<size_t>(at_ - from)};
  }

  // What is between braces, if any are there.
  absl::Status Labels(SampleLabels& labels, size_t* count) {
    *count = 0;
    SkipBlanks();
    if (!Skip('{')) return absl::OkStatus();
    while (true) {
      SkipBlanks();
      if (Skip('}')) return absl::OkStatus();
      if (*count == labels.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("a sample with more than ", kMostLabels, " labels"));
      }
      RETURN_IF_ERROR(Label(labels[(*count)++]));
      SkipBlanks();
      if (!Skip(',') && (at_ == end_ || *at_ != '}')) {
        return absl::InvalidArgumentError(
            absl::StrCat("labels without an end: \",\" or \"}\" expected ", Where(at_)));
      }
    }
  }

  // Blanks do not have to stand before it: `{a="b"}1` is what Prometheus reads too.
  absl::Status Number(absl::string_view what, double* number) {
    SkipBlanks();
    const char* const from = at_;
    while (at_ != end_ && !IsBlank(*at_)) ++at_;
    const absl::string_view text(from, static_cast<size_t>(at_ - from));
    const std::optional<double> parsed = PageNumber(text);
    if (!parsed.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(what, " expected ", Where(from)));
    }
    *number = *parsed;
    return absl::OkStatus();
  }

  // Timestamp and exemplar: neither changes what the sample says.
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
    return absl::InvalidArgumentError(absl::StrCat("end of the line expected ", Where(at_)));
  }

  bool HasText() {
    SkipBlanks();
    return at_ != end_;
  }
  bool CanBe(Place place) const { return (kPlaces[static_cast<unsigned char>(*at_)] & place) != 0; }
  void SkipBlanks() {
    while (at_ != end_ && IsBlank(*at_)) ++at_;
  }
  bool Skip(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  std::string Where(const char* at) const {
    return at == end_ ? "at the end" : absl::StrCat("at character ", at - begin_ + 1);
  }

  absl::Status Label(ExpositionLabel& label) {
    label.name = Word(kLabelStart, kLabelPart);
    if (label.name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("name of a label expected ", Where(at_)));
    }
    SkipBlanks();
    const bool assigned = Skip('=');
    SkipBlanks();
    if (!assigned || !Skip('"')) {
      return absl::InvalidArgumentError(
          absl::StrCat("=\"value\" of a label expected ", Where(at_)));
    }
    const char* const from = at_;
    while (at_ != end_ && *at_ != '"') at_ += *at_ == '\\' && end_ - at_ > 1 ? 2 : 1;
    label.escaped_value = {from, static_cast<size_t>(at_ - from)};
    if (Skip('"')) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("value of a label without closing quote ", Where(from - 1)));
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
