#include "page/prometheus_text.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "page/sample_line.h"

namespace gpuscaler {
namespace {

// The state of ReadPage().
class PageReader {
 public:
  PageReader(ExpositionFormat format, absl::FunctionRef<bool(absl::string_view)> is_needed,
             absl::FunctionRef<void(const ExpositionSample&)> take)
      : format_(format), is_needed_(is_needed), take_(take) {}

  absl::Status Line(absl::string_view text) {
    if (text.size() > kMaxLineBytes) {
      return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxLineBytes, " bytes"));
    }
    if (ended_) return absl::InvalidArgumentError("text after \"# EOF\"");
    const absl::string_view line =
        text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
    if (line.empty()) return absl::OkStatus();
    if (line[0] != '#') return Sample(line);
    ended_ = format_ == ExpositionFormat::kOpenMetrics && line == "# EOF";
    return absl::OkStatus();
  }

  bool ended() const { return ended_; }

 private:
  absl::Status Sample(absl::string_view line) {
    ASSIGN_OR_RETURN(const ExpositionSample sample, ReadSampleLine(line, labels_, scratch_));
    if (sample.name != name_) {
      name_ = sample.name;
      needed_ = is_needed_(name_);
    }
    if (needed_) take_(sample);
    return absl::OkStatus();
  }

  const ExpositionFormat format_;
  const absl::FunctionRef<bool(absl::string_view)> is_needed_;
  const absl::FunctionRef<void(const ExpositionSample&)> take_;
  bool ended_ = false;
  absl::string_view name_;  // the previous sample's name, and whether it is needed
  bool needed_ = false;
  SampleLabels labels_;
  SampleLabels scratch_;
};

absl::Status CutOff(absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("the page is cut off: it does not end with ", expected));
}

}  // namespace

ExpositionFormat ExpositionFormatOf(absl::string_view content_type) {
  const bool open = absl::StartsWithIgnoreCase(absl::StripLeadingAsciiWhitespace(content_type),
                                               "application/openmetrics-text");
  return open ? ExpositionFormat::kOpenMetrics : ExpositionFormat::kText;
}

absl::string_view ExpositionSample::EscapedLabel(absl::string_view label) const {
  const auto found = std::ranges::find(labels, label, &ExpositionLabel::name);
  return found == labels.end() ? absl::string_view() : found->escaped_value;
}

std::string ExpositionSample::Label(absl::string_view label) const {
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

std::optional<double> ParseSampleValue(absl::string_view text) {
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

absl::Status ReadPage(absl::string_view page, ExpositionFormat format,
                      absl::FunctionRef<bool(absl::string_view name)> is_needed,
                      absl::FunctionRef<void(const ExpositionSample& sample)> take) {
  if (page.size() > kMaxExpositionBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a page of more than ", kMaxExpositionBytes, " bytes"));
  }
  PageReader reader(format, is_needed, take);
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
  if (format == ExpositionFormat::kOpenMetrics && !reader.ended()) return CutOff("\"# EOF\"");
  if (format == ExpositionFormat::kText && !whole_lines) return CutOff("a line feed");
  return absl::OkStatus();
}

}  // namespace gpuscaler
