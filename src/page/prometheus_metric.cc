#include "page/prometheus_metric.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

constexpr std::pair<absl::string_view, LabelMatcher::Kind> kOperators[] = {
    {"=~", LabelMatcher::Kind::kMatches},
    {"!~", LabelMatcher::Kind::kMatchesNot},
    {"!=", LabelMatcher::Kind::kNotEqual},
    {"=", LabelMatcher::Kind::kEqual}};

absl::StatusOr<std::shared_ptr<const re2::RE2>> RegexOf(const std::string& value) {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kRegexBytes);
  options.set_dot_nl(true);  // as in Prometheus
  auto regex = std::make_shared<const re2::RE2>(value, options);
  if (regex->ok()) return regex;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", value, "\" is no regular expression: ", regex->error()));
}

class SelectorParser {
 public:
  explicit SelectorParser(absl::string_view text) : text_(text), rest_(text) {}

  absl::StatusOr<MetricSelector> Parse() {
    MetricSelector selector;
    selector.text = std::string(text_);
    SkipBlanks();
    selector.name = std::string(Word(true));
    if (selector.name.empty()) return Expected("the name of a metric");
    SkipBlanks();
    if (absl::ConsumePrefix(&rest_, "{")) RETURN_IF_ERROR(Matchers(selector.matchers));
    SkipBlanks();
    if (!rest_.empty()) return Expected(selector.matchers.empty() ? "{ or the end" : "the end");
    std::stable_partition(selector.matchers.begin(), selector.matchers.end(),
                          [](const LabelMatcher& matcher) { return !matcher.regex; });
    return selector;
  }

 private:
  absl::Status Matchers(std::vector<LabelMatcher>& matchers) {
    while (true) {
      SkipBlanks();
      if (absl::ConsumePrefix(&rest_, "}")) return absl::OkStatus();
      if (matchers.size() == kMaxMatchers) {
        return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxMatchers, " labels"));
      }
      ASSIGN_OR_RETURN(LabelMatcher matcher, Matcher());
      matchers.push_back(std::move(matcher));
      SkipBlanks();
      if (!absl::ConsumePrefix(&rest_, ",") && rest_.substr(0, 1) != "}") return Expected(", or }");
    }
  }

  absl::StatusOr<LabelMatcher> Matcher() {
    LabelMatcher matcher;
    matcher.label = std::string(Word(false));
    if (matcher.label.empty()) return Expected("the name of a label, or }");
    SkipBlanks();
    const auto* const found = std::ranges::find_if(
        kOperators, [&](const auto& one) { return absl::ConsumePrefix(&rest_, one.first); });
    if (found == std::end(kOperators)) return Expected("=, !=, =~ or !~");
    matcher.kind = found->second;
    SkipBlanks();
    ASSIGN_OR_RETURN(matcher.value, Value());
    if (matcher.kind == LabelMatcher::Kind::kMatches ||
        matcher.kind == LabelMatcher::Kind::kMatchesNot) {
      ASSIGN_OR_RETURN(matcher.regex, RegexOf(matcher.value));
    }
    return matcher;
  }

  absl::StatusOr<std::string> Value() {
    if (rest_.empty() || (rest_[0] != '"' && rest_[0] != '\''))
      return Expected("a value in quotes");
    const char quote = rest_[0];
    std::string value;
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == quote) {
        rest_.remove_prefix(i + 1);
        return value;
      }
      if (rest_[i] != '\\') {
        value.push_back(rest_[i]);
        continue;
      }
      const char escaped = ++i < rest_.size() ? rest_[i] : '\0';
      if (escaped != '\\' && escaped != 'n' && escaped != quote) {
        rest_.remove_prefix(i - 1);
        return Expected("\\\\, \\n or an escaped quote");
      }
      value.push_back(escaped == 'n' ? '\n' : escaped);
    }
    return Expected("a value with closed quotes");
  }

  absl::string_view Word(bool may_have_colons) {
    size_t length = 0;
    while (length < rest_.size()) {
      const auto c = static_cast<unsigned char>(rest_[length]);
      const bool can_begin = absl::ascii_isalpha(c) || c == '_' || (c == ':' && may_have_colons);
      if (!can_begin && (length == 0 || !absl::ascii_isdigit(c))) break;
      ++length;
    }
    const absl::string_view word = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return word;
  }

  void SkipBlanks() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }

  absl::Status Expected(absl::string_view what) const {
    const std::string found = rest_.empty() ? "the end" : absl::StrCat("\"", rest_, "\"");
    return absl::InvalidArgumentError(
        absl::StrCat(what, " expected at character ", text_.size() - rest_.size() + 1, ", not ",
                     found, ": write name{label=\"value\",other=~\"regex\"}"));
  }

  const absl::string_view text_;
  absl::string_view rest_;
};

}  // namespace

bool LabelMatcher::Matches(absl::string_view label_value) const {
  switch (kind) {
    case Kind::kEqual:
      return label_value == value;
    case Kind::kNotEqual:
      return label_value != value;
    case Kind::kMatches:
    case Kind::kMatchesNot:
      break;
  }
  const re2::StringPiece piece(label_value.data(), label_value.size());
  return re2::RE2::FullMatch(piece, *regex) == (kind == Kind::kMatches);
}

bool MetricSelector::HasRegex() const {
  return !matchers.empty() && matchers.back().regex != nullptr;
}

std::optional<bool> MetricSelector::Matches(const ExpositionSample& sample,
                                            size_t& steps_left) const {
  if (sample.name != name) return false;
  for (const LabelMatcher& matcher : matchers) {
    const absl::string_view escaped = sample.EscapedLabel(matcher.label);
    if (matcher.regex != nullptr) {
      const size_t steps = (escaped.size() + 1) * static_cast<size_t>(matcher.regex->ProgramSize());
      if (steps > steps_left) return std::nullopt;
      steps_left -= steps;
    }
    const bool matches = absl::StrContains(escaped, '\\') ? matcher.Matches(Unescaped(escaped))
                                                          : matcher.Matches(escaped);
    if (!matches) return false;
  }
  return true;
}

absl::StatusOr<MetricSelector> ParseMetricSelector(absl::string_view text) {
  if (text.size() > kMaxSelectorLength) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMaxSelectorLength, " characters"));
  }
  return SelectorParser(text).Parse();
}

absl::Status NotFinite(const MetricSelector& selector) {
  return absl::FailedPreconditionError(
      absl::StrCat("a series of ", selector.text, ", or their sum, is NaN or infinite"));
}

}  // namespace gpuscaler
