// Differential test: compares the parser with a reference parser, one regular expression per line.
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "page/prometheus_text.h"
#include "re2/re2.h"

namespace gpuscaler {
namespace {

using re2::RE2;

struct ReferenceSample {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;  // still escaped
  double value = 0;
};

struct ReferenceExposition {
  bool is_valid = true;
  std::vector<ReferenceSample> samples;
};

const RE2& NewPattern(const std::string& text) {
  RE2::Options options(RE2::Latin1);
  options.set_dot_nl(true);
  return *new RE2(text, options);
}

std::string LabelPattern(const std::string& name, const std::string& value) {
  return absl::StrCat("[ \t]*", name, "[ \t]*=[ \t]*\"", value, "\"[ \t]*");
}

constexpr char kLabelName[] = "[a-zA-Z_][a-zA-Z0-9_]*";
// UTF-8 (RFC 3629, section 4), with a backslash before quotes and backslashes.
constexpr char kLabelValue[] =
    R"re((?:[^"\\\x80-\xff]|\\[\x00-\x7f]|\\?(?:[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf])re"
    R"re(|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf]{2})re"
    R"re(|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}))*)re";

std::string LineText() {
  const std::string label = LabelPattern(kLabelName, kLabelValue);
  const std::string labels =
      absl::StrCat(R"(\{[ \t]*(?:)", label, "(?:,", label, R"()*,?[ \t]*)?\})");
  const std::string number =
      R"re((?i:[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|nan|inf|infinity)))re";
  const std::string timed_number = absl::StrCat("(", number, ")(?:[ \t]+", number, ")?");
  return absl::StrCat("[ \t]*([a-zA-Z_:][a-zA-Z0-9_:]*)(?:[ \t]*(", labels, ")[ \t]*|[ \t]+)",
                      timed_number, "(?:[ \t]+#[ \t]*", labels, "[ \t]*", timed_number, ")?[ \t]*");
}

bool ReferenceNumber(const std::string& text, double* value) {
  *value = std::strtod(text.c_str(), nullptr);
  const bool has_digits = text.find_first_of("0123456789") != std::string::npos;
  return !has_digits || std::isfinite(*value);
}

bool ReferenceLine(const std::string& line, std::vector<ReferenceSample>* samples) {
  static const RE2& line_pattern = NewPattern(LineText());
  static const RE2& label_pattern = NewPattern(
      LabelPattern(absl::StrCat("(", kLabelName, ")"), absl::StrCat("(", kLabelValue, ")")));
  static const RE2& comment_or_blank = NewPattern("[ \t]*(?:#.*)?");
  if (RE2::FullMatch(line, comment_or_blank)) return true;
  ReferenceSample sample;
  std::string labels;
  std::string value;
  std::string exemplar;
  if (!RE2::FullMatch(line, line_pattern, &sample.name, &labels, &value, &exemplar)) return false;
  double ignored = 0;
  if (!ReferenceNumber(value, &sample.value) || !ReferenceNumber(exemplar, &ignored)) return false;
  re2::StringPiece rest(labels);
  std::pair<std::string, std::string> label;
  while (RE2::FindAndConsume(&rest, label_pattern, &label.first, &label.second)) {
    sample.labels.push_back(label);
  }
  samples->push_back(sample);
  return true;
}

ReferenceExposition ReferenceParse(const std::string& page) {
  ReferenceExposition read;
  if (page.empty()) return read;
  std::vector<std::string> lines = absl::StrSplit(page, '\n');
  if (!lines.back().empty()) return {.is_valid = false};
  lines.pop_back();
  for (const std::string& line : lines) {
    if (!ReferenceLine(std::string(absl::StripSuffix(line, "\r")), &read.samples)) {
      return {.is_valid = false};
    }
  }
  return read;
}

void ExpectSame(const ReferenceSample& want, const ExpositionSample& got) {
  EXPECT_EQ(want.name, got.name);
  EXPECT_TRUE(want.value == got.value || (std::isnan(want.value) && std::isnan(got.value)))
      << want.value << " and " << got.value;
  ASSERT_EQ(want.labels.size(), got.labels.size());
  for (size_t i = 0; i < want.labels.size(); ++i) {
    EXPECT_EQ(want.labels[i].first, got.labels[i].name);
    EXPECT_EQ(want.labels[i].second, got.labels[i].escaped_value);
  }
}

// Returns true if both accept the page.
bool ExpectSameResult(const std::string& page) {
  const ReferenceExposition want = ReferenceParse(page);
  size_t taken = 0;
  const absl::Status status = ReadPage(
      page, ExpositionFormat::kText, [](absl::string_view) { return true; },
      [&](const ExpositionSample& got) {
        if (want.is_valid && taken < want.samples.size()) ExpectSame(want.samples[taken], got);
        ++taken;
      });
  EXPECT_EQ(want.is_valid, status.ok()) << status << "\n" << absl::CHexEscape(page);
  EXPECT_TRUE(!want.is_valid || want.samples.size() == taken) << absl::CHexEscape(page);
  return want.is_valid;
}

// Generates random pages of valid tokens, with some random corruption.
class RandomExposition {
 public:
  explicit RandomExposition(unsigned seed) : engine_(seed) {}

  std::string Page() {
    std::string page;
    for (int lines = Uniform(0, 4); lines > 0; --lines) absl::StrAppend(&page, Line(), "\n");
    for (int corruptions = Uniform(-2, 3); corruptions > 0 && !page.empty(); --corruptions)
      Corrupt(&page);
    return page;
  }

 private:
  int Uniform(int from, int to) { return std::uniform_int_distribution<int>(from, to)(engine_); }
  const char* OneOf(const std::vector<const char*>& pieces) {
    return pieces[static_cast<size_t>(Uniform(0, static_cast<int>(pieces.size()) - 1))];
  }
  const char* Blank() { return OneOf({"", "", " ", "\t", "  "}); }
  const char* Number() {
    return OneOf({"1", "-2.5", "+.5", "3.", "1e3", "2E-2", "NaN", "+Inf", "-inf", "0", "1767"});
  }

  std::string Labels() {
    std::string labels = absl::StrCat("{", Blank());
    for (int count = Uniform(0, 3); count > 0; --count) {
      absl::StrAppend(
          &labels, OneOf({"a", "le", "_x9"}), Blank(), "=", Blank(), "\"",
          OneOf({"", "m/a", "+Inf", "\\\"", "\\\\", "} 1", "\\n", ",", "#", "\xc3\xa4"}), "\"",
          Blank(), count > 1 || Uniform(0, 1) == 0 ? "," : "", Blank());
    }
    return labels + "}";
  }

  std::string Line() {
    if (Uniform(0, 5) == 0) return OneOf({"", " ", "# HELP a b", "# EOF", "#", "\t# x{y"});
    std::string line = absl::StrCat(Blank(), OneOf({"a", "vllm:w", "_b9", ":"}), Blank());
    absl::StrAppend(&line, Uniform(0, 1) == 0 ? Labels() : " ", Blank(), Number());
    if (Uniform(0, 2) == 0) absl::StrAppend(&line, " ", Number());
    if (Uniform(0, 2) == 0) absl::StrAppend(&line, " #", Blank(), Labels(), Blank(), Number());
    return absl::StrCat(line, Blank(), Uniform(0, 5) == 0 ? "\r" : "");
  }

  void Corrupt(std::string* page) {
    const auto at = static_cast<size_t>(Uniform(0, static_cast<int>(page->size()) - 1));
    const char piece = " \t\n\r{}\",=\\#:_a1.-+eN\x80"[Uniform(0, 20)];
    switch (Uniform(0, 3)) {
      case 0:
        page->erase(at, 1);
        break;
      case 1:
        page->insert(at, 1, piece);
        break;
      case 2:
        (*page)[at] = piece;
        break;
      default:
        page->resize(at);
    }
  }

  std::mt19937 engine_;
};

TEST(PrometheusTextProperty, MatchesTheReferenceParserOnEveryExposition) {
  constexpr unsigned kPages = 4000;
  unsigned valid = 0;
  for (unsigned seed = 0; seed < kPages && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    if (ExpectSameResult(RandomExposition(seed).Page())) ++valid;
  }
  EXPECT_GT(valid, kPages / 4) << "too few valid pages";
  EXPECT_LT(valid, kPages * 3 / 4) << "too few invalid pages";
}

}  // namespace
}  // namespace gpuscaler
