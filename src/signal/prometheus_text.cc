#include "signal/prometheus_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

constexpr size_t kQuotedAtMost = 40;  // characters of a page in an error

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

std::string Quoted(absl::string_view text) {
  const bool whole = text.size() <= kQuotedAtMost;
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, kQuotedAtMost)),
                      whole ? "\"" : "...\"");
}

// One line, read from left to right. Each step says what is wrong where it cannot go on.
class SampleLine {
 public:
  explicit SampleLine(absl::string_view line) : at_(line.data()), end_(line.data() + line.size()) {}

  // False: nothing but blanks.
  bool HasText() {
    SkipBlanks();
    return at_ != end_;
  }
  bool IsComment() const { return *at_ == '#'; }
  // What has been read of the line is a word by itself.
  bool IsAtBreak() const { return at_ == end_ || IsBlank(*at_) || *at_ == '{'; }
  absl::string_view Rest() const { return {at_, static_cast<size_t>(end_ - at_)}; }

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
  absl::Status Labels(std::array<PageLabel, kMostLabels>& labels, size_t* count) {
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
            absl::StrCat("labels without an end: \",\" or \"}\" expected before ", Here()));
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
      return absl::InvalidArgumentError(
          absl::StrCat(what, text.empty() ? " expected at the end" : " expected, not ",
                       text.empty() ? "" : Quoted(text)));
    }
    *number = *parsed;
    return absl::OkStatus();
  }

  // Timestamp and exemplar: neither changes what the sample says.
  absl::Status Tail(std::array<PageLabel, kMostLabels>& scratch) {
    double ignored = 0;
    size_t count = 0;
    if (HasText() && !IsComment()) RETURN_IF_ERROR(Number("timestamp", &ignored));
    if (HasText() && IsComment()) {
      ++at_;
      SkipBlanks();
      if (at_ == end_ || *at_ != '{') {
        return absl::InvalidArgumentError("exemplar without labels");
      }
      RETURN_IF_ERROR(Labels(scratch, &count));
      RETURN_IF_ERROR(Number("value of the exemplar", &ignored));
      if (HasText()) RETURN_IF_ERROR(Number("timestamp of the exemplar", &ignored));
    }
    if (!HasText()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("end of the line expected before ", Here()));
  }

 private:
  bool CanBe(Place place) const { return (kPlaces[static_cast<unsigned char>(*at_)] & place) != 0; }
  void SkipBlanks() {
    while (at_ != end_ && IsBlank(*at_)) ++at_;
  }
  bool Skip(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  std::string Here() const { return at_ == end_ ? "the end of the line" : Quoted(Rest()); }

  absl::Status Label(PageLabel& label) {
    label.name = Word(kLabelStart, kLabelPart);
    if (label.name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("name of a label expected before ", Here()));
    }
    SkipBlanks();
    const bool assigned = Skip('=');
    SkipBlanks();
    if (!assigned || !Skip('"')) {
      return absl::InvalidArgumentError(
          absl::StrCat("label ", Quoted(label.name), ": =\"value\" expected before ", Here()));
    }
    const char* const from = at_;
    while (at_ != end_ && *at_ != '"') at_ += *at_ == '\\' && end_ - at_ > 1 ? 2 : 1;
    label.escaped_value = {from, static_cast<size_t>(at_ - from)};
    if (Skip('"')) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("label ", Quoted(label.name), ": value without closing quote"));
  }

  const char* at_;
  const char* const end_;
};

// What ReadPage was asked for, and where it is.
class PageReader {
 public:
  PageReader(PageFormat format, absl::FunctionRef<bool(absl::string_view)> is_wanted,
             absl::FunctionRef<void(const PageSample&)> take)
      : format_(format), is_wanted_(is_wanted), take_(take) {}

  absl::Status Line(absl::string_view text) {
    if (text.size() > kLongestLine) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kLongestLine, " bytes"));
    }
    if (ended_) return absl::InvalidArgumentError("text after \"# EOF\"");
    SampleLine line(text);
    if (!line.HasText()) return absl::OkStatus();
    if (line.IsComment()) {
      ended_ = format_ == PageFormat::kOpenMetrics && line.Rest() == "# EOF";
      return absl::OkStatus();
    }
    return Sample(line);
  }

  bool ended() const { return ended_; }

 private:
  absl::Status Sample(SampleLine& line) {
    PageSample sample;
    const absl::string_view text = line.Rest();
    sample.name = line.Word(kNameStart, kNamePart);
    if (sample.name.empty() || !line.IsAtBreak()) {
      return absl::InvalidArgumentError(
          absl::StrCat("name of a metric expected, not ", Quoted(text)));
    }
    size_t count = 0;
    RETURN_IF_ERROR(line.Labels(labels_, &count));
    sample.labels = std::span(labels_).first(count);
    RETURN_IF_ERROR(line.Number("value", &sample.value));
    RETURN_IF_ERROR(line.Tail(exemplar_));
    if (sample.name != name_) {
      name_ = sample.name;
      wanted_ = is_wanted_(name_);
    }
    if (wanted_) take_(sample);
    return absl::OkStatus();
  }

  const PageFormat format_;
  const absl::FunctionRef<bool(absl::string_view)> is_wanted_;
  const absl::FunctionRef<void(const PageSample&)> take_;
  bool ended_ = false;
  absl::string_view name_;  // of the sample before, and whether it is wanted
  bool wanted_ = false;
  std::array<PageLabel, kMostLabels> labels_;
  std::array<PageLabel, kMostLabels> exemplar_;
};

absl::Status CutOff(absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("the page is cut off: it does not end with ", expected));
}

}  // namespace

PageFormat PageFormatOf(absl::string_view content_type) {
  const bool open = absl::StartsWithIgnoreCase(absl::StripLeadingAsciiWhitespace(content_type),
                                               "application/openmetrics-text");
  return open ? PageFormat::kOpenMetrics : PageFormat::kText;
}

absl::string_view PageSample::EscapedLabel(absl::string_view label) const {
  const auto found = std::ranges::find(labels, label, &PageLabel::name);
  return found == labels.end() ? absl::string_view() : found->escaped_value;
}

std::string PageSample::Label(absl::string_view label) const {
  return Unescaped(EscapedLabel(label));
}

std::string Unescaped(absl::string_view escaped) {
  std::string text;
  text.reserve(escaped.size());
  for (size_t i = 0; i < escaped.size(); ++i) {
    const char next = escaped[i] == '\\' && i + 1 < escaped.size() ? escaped[i + 1] : '\0';
    if (next != 'n' && next != '"' && next != '\\') {
      text.push_back(escaped[i]);
      continue;
    }
    text.push_back(next == 'n' ? '\n' : next);
    ++i;
  }
  return text;
}

std::optional<double> PageNumber(absl::string_view text) {
  const bool negative = absl::ConsumePrefix(&text, "-");
  if (!negative) absl::ConsumePrefix(&text, "+");
  const double sign = negative ? -1 : 1;
  if (text.empty() || text[0] == '-') return std::nullopt;
  if (absl::ascii_isalpha(static_cast<unsigned char>(text[0]))) {
    if (absl::EqualsIgnoreCase(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
    if (absl::EqualsIgnoreCase(text, "inf") || absl::EqualsIgnoreCase(text, "infinity")) {
      return sign * std::numeric_limits<double>::infinity();
    }
    return std::nullopt;
  }
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped_at, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped_at != end) return std::nullopt;
  return sign * number;
}

absl::Status ReadPage(absl::string_view page, PageFormat format,
                      absl::FunctionRef<bool(absl::string_view name)> is_wanted,
                      absl::FunctionRef<void(const PageSample& sample)> take) {
  if (page.size() > kLargestPage) {
    return absl::InvalidArgumentError(absl::StrCat("a page of more than ", kLargestPage, " bytes"));
  }
  PageReader reader(format, is_wanted, take);
  const bool whole_lines = page.empty() || page.back() == '\n';
  for (int64_t number = 1; !page.empty(); ++number) {
    const size_t length = std::min(page.find('\n'), page.size());
    absl::string_view line = page.substr(0, length);
    page.remove_prefix(std::min(length + 1, page.size()));
    absl::ConsumeSuffix(&line, "\r");
    if (const absl::Status status = reader.Line(line); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("line ", number, ": ", status.message()));
    }
  }
  if (format == PageFormat::kOpenMetrics && !reader.ended()) return CutOff("\"# EOF\"");
  if (format == PageFormat::kText && !whole_lines) return CutOff("a line feed");
  return absl::OkStatus();
}

}  // namespace gpuscaler
