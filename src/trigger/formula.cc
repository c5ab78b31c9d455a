#include "trigger/formula.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace gpuscaler {
namespace {

// Operators and values of expr-lang that are words (expr-lang.org/docs/language-definition).
constexpr std::array<absl::string_view, 13> kWords = {
    "and",      "or",   "not",   "in",  "matches", "contains", "startsWith",
    "endsWith", "true", "false", "nil", "if",      "else"};

bool IsWord(absl::string_view name) { return std::ranges::find(kWords, name) != kWords.end(); }

bool IsPlain(absl::string_view formula) {
  return formula.find_first_of("{}\"'`;$#") == absl::string_view::npos &&
         formula.find("//") == absl::string_view::npos &&
         formula.find("/*") == absl::string_view::npos;
}

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

absl::string_view TakeWhile(bool (*is)(char), absl::string_view& rest) {
  const auto end = std::ranges::find_if_not(rest, is);
  const absl::string_view taken = rest.substr(0, static_cast<size_t>(end - rest.begin()));
  rest.remove_prefix(taken.size());
  return taken;
}

// Characters of "0.5" and "1e6".
bool IsNumberCharacter(char c) { return IsNameCharacter(c) || c == '.'; }

bool IsFunction(absl::string_view behind) {
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(behind), "(");
}

}  // namespace

std::vector<std::string> TriggersIn(absl::string_view formula) {
  std::vector<std::string> names;
  if (!IsPlain(formula)) return names;
  while (!formula.empty()) {
    const char first = formula.front();
    if (absl::ascii_isdigit(static_cast<unsigned char>(first)) || first == '.') {
      TakeWhile(IsNumberCharacter, formula);
      continue;
    }
    const absl::string_view word = TakeWhile(IsNameCharacter, formula);
    if (word.empty()) {
      formula.remove_prefix(1);
      continue;
    }
    if (!IsWord(word) && !IsFunction(formula)) names.emplace_back(word);
  }
  return names;
}

std::vector<std::string> TriggersInMin(absl::string_view formula) {
  static const auto& min = *new RE2(R"(\s*min\s*\(([^()\[\]]*)\)\s*)");
  static const auto& scaled = *new RE2(R"(\s*([A-Za-z_]\w*)\s*(?:[*/]\s*[0-9.]+\s*)?)");
  std::vector<std::string> names;
  std::string arguments;
  if (!RE2::FullMatch(re2::StringPiece(formula.data(), formula.size()), min, &arguments)) {
    return names;
  }
  const std::vector<std::string> each = absl::StrSplit(arguments, ',');
  for (const std::string& argument : each) {
    std::string name;
    if (RE2::FullMatch(argument, scaled, &name) && !IsWord(name)) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace gpuscaler
