#include "config/option_words.h"

#include <algorithm>
#include <span>
#include <type_traits>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/nearest.h"

namespace gpuscaler {
namespace {

template <typename Choice>
struct WordRow {
  absl::string_view word;
  Choice choice;
};

constexpr WordRow<Role> kRoleWords[] = {
    {"standalone", Role::kStandalone}, {"agent", Role::kAgent}, {"aggregator", Role::kAggregator}};
constexpr WordRow<LogLevel> kLogLevelWords[] = {{"debug", LogLevel::kDebug},
                                                {"info", LogLevel::kInfo},
                                                {"warn", LogLevel::kWarn},
                                                {"error", LogLevel::kError}};
constexpr WordRow<LogFormat> kLogFormatWords[] = {{"text", LogFormat::kText},
                                                  {"json", LogFormat::kJson}};
constexpr WordRow<AttributionMode> kAttributionWords[] = {{"auto", AttributionMode::kAuto},
                                                          {"kubelet", AttributionMode::kKubelet},
                                                          {"page", AttributionMode::kPage},
                                                          {"none", AttributionMode::kNone}};

constexpr WordRow<DiscoverEngines> kDiscoverEnginesWords[] = {{"auto", DiscoverEngines::kAuto},
                                                              {"true", DiscoverEngines::kTrue},
                                                              {"false", DiscoverEngines::kFalse}};

constexpr WordRow<AgentIdentity> kAgentIdentityWords[] = {{"none", AgentIdentity::kNone},
                                                          {"san", AgentIdentity::kSan}};

// Overloads by type. They ignore the argument's value.
std::span<const WordRow<Role>> RowsOf(Role) { return kRoleWords; }
std::span<const WordRow<LogLevel>> RowsOf(LogLevel) { return kLogLevelWords; }
std::span<const WordRow<LogFormat>> RowsOf(LogFormat) { return kLogFormatWords; }
std::span<const WordRow<AttributionMode>> RowsOf(AttributionMode) { return kAttributionWords; }
std::span<const WordRow<DiscoverEngines>> RowsOf(DiscoverEngines) { return kDiscoverEnginesWords; }
std::span<const WordRow<AgentIdentity>> RowsOf(AgentIdentity) { return kAgentIdentityWords; }

template <typename Choice>
std::vector<absl::string_view> AllWords() {
  std::vector<absl::string_view> words;
  for (const auto& row : RowsOf(Choice())) words.push_back(row.word);
  return words;
}

struct WordLister {
  template <typename Value>
  std::vector<absl::string_view> operator()(Value Config::* /*member*/) const {
    if constexpr (std::is_enum_v<Value>) return AllWords<Value>();
    return {};
  }
  std::vector<absl::string_view> operator()(PortMember /*member*/) const { return {}; }
};

}  // namespace

template <typename Choice>
absl::Status SetWord(absl::string_view text, Choice& chosen) {
  for (const auto& row : RowsOf(Choice())) {
    if (row.word != text) continue;
    chosen = row.choice;
    return absl::OkStatus();
  }
  const std::vector<absl::string_view> words = AllWords<Choice>();
  return absl::InvalidArgumentError(
      absl::StrCat("use ", absl::StrJoin(words, ", "), DidYouMean(text, words)));
}

template <typename Choice>
absl::string_view WordOf(Choice choice) {
  return std::ranges::find(RowsOf(choice), choice, &WordRow<Choice>::choice)->word;
}

template absl::Status SetWord(absl::string_view, Role&);
template absl::Status SetWord(absl::string_view, LogLevel&);
template absl::Status SetWord(absl::string_view, LogFormat&);
template absl::Status SetWord(absl::string_view, AttributionMode&);
template absl::Status SetWord(absl::string_view, DiscoverEngines&);
template absl::Status SetWord(absl::string_view, AgentIdentity&);
template absl::string_view WordOf(Role);
template absl::string_view WordOf(LogLevel);
template absl::string_view WordOf(LogFormat);
template absl::string_view WordOf(AttributionMode);
template absl::string_view WordOf(DiscoverEngines);
template absl::string_view WordOf(AgentIdentity);

std::vector<absl::string_view> Words(const Option& option) {
  return std::visit(WordLister(), option.member);
}

}  // namespace gpuscaler
