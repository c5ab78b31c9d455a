#include "role/option_value.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/duration_text.h"
#include "base/nearest.h"

namespace gpuscaler {
namespace {

template <typename Choice>
using WordRow = std::pair<absl::string_view, Choice>;

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
  for (const auto& row : RowsOf(Choice())) words.push_back(row.first);
  return words;
}

template <typename Choice>
absl::string_view WordOfChoice(Choice choice) {
  return std::ranges::find(RowsOf(choice), choice, &WordRow<Choice>::second)->first;
}

bool IsPort(const Option& option) { return option.value == "PORT"; }

std::string NumberRange(const Option& option) {
  return absl::StrCat(option.least, " to ", static_cast<int64_t>(option.most));
}

std::string DurationRange(const Option& option) {
  return absl::StrCat(DurationText(absl::Seconds(option.least)), " to ",
                      DurationText(absl::Seconds(option.most)));
}

absl::Status SetPort(absl::string_view text, int& port) {
  int number = 0;
  if (text == "any") {
    port = kAnyPort;
    return absl::OkStatus();
  }
  if (!absl::SimpleAtoi(text, &number) || number < 0 || number > 65535) {
    return absl::InvalidArgumentError("use a port from 0 to 65535, or any");
  }
  port = number;
  return absl::OkStatus();
}

// SetMember() and, below, MemberText() for each type of member.
absl::Status SetMember(const Option& option, absl::string_view text, int& number) {
  if (IsPort(option)) return SetPort(text, number);
  int parsed = 0;
  if (absl::SimpleAtoi(text, &parsed) && parsed >= option.least && parsed <= option.most) {
    number = parsed;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("use a whole number from ", NumberRange(option)));
}

absl::Status SetMember(const Option& option, absl::string_view text, absl::Duration& duration) {
  const absl::StatusOr<absl::Duration> parsed = ParseDuration(text);
  if (!parsed.ok() || *parsed < absl::Seconds(option.least) ||
      *parsed > absl::Seconds(option.most)) {
    return absl::InvalidArgumentError(
        absl::StrCat("use a duration with its unit, from ", DurationRange(option)));
  }
  duration = *parsed;
  return absl::OkStatus();
}

absl::Status SetMember(const Option& option, absl::string_view text,
                       std::optional<absl::Duration>& member) {
  absl::Duration duration;
  absl::Status status = SetMember(option, text, duration);
  if (status.ok()) member = duration;
  return status;
}

absl::Status SetMember(const Option& option, absl::string_view text, std::string& member) {
  if (option.check != nullptr) {
    if (absl::Status checked = option.check(text); !checked.ok()) return checked;
  }
  member = std::string(text);
  return absl::OkStatus();
}

template <typename Choice>
absl::Status SetMember(const Option& /*option*/, absl::string_view text, Choice& chosen) {
  for (const auto& row : RowsOf(Choice())) {
    if (row.first != text) continue;
    chosen = row.second;
    return absl::OkStatus();
  }
  const std::vector<absl::string_view> words = AllWords<Choice>();
  return absl::InvalidArgumentError(
      absl::StrCat("use ", absl::StrJoin(words, ", "), DidYouMean(text, words)));
}

std::string MemberText(const std::string& text) { return text; }
std::string MemberText(int number) { return number == kAnyPort ? "any" : absl::StrCat(number); }
std::string MemberText(absl::Duration duration) { return DurationText(duration); }
std::string MemberText(const std::optional<absl::Duration>& duration) {
  return duration ? DurationText(*duration) : "";
}
template <typename Choice>
std::string MemberText(Choice choice) {
  return std::string(WordOfChoice(choice));
}

}  // namespace

absl::Status Set(const Option& option, absl::string_view text, Config& config) {
  return std::visit([&](auto member) { return SetMember(option, text, config.*member); },
                    option.member);
}

std::string TextOf(const Option& option, const Config& config) {
  return std::visit([&](auto member) { return MemberText(config.*member); }, option.member);
}

absl::string_view WordOf(Role role) { return WordOfChoice(role); }
absl::string_view WordOf(AttributionMode mode) { return WordOfChoice(mode); }

std::vector<absl::string_view> Words(const Option& option) {
  return std::visit(
      []<typename Value>(Value Config::* /*member*/) -> std::vector<absl::string_view> {
        if constexpr (std::is_enum_v<Value>) return AllWords<Value>();
        return {};
      },
      option.member);
}

std::string DefaultText(const Option& option) {
  if (!option.default_text.empty()) return std::string(option.default_text);
  return TextOf(option, Config());
}

std::string HelpText(const Option& option) {
  if (std::holds_alternative<int Config::*>(option.member) && !IsPort(option)) {
    return absl::StrCat(option.help, " ", NumberRange(option), ".");
  }
  const bool is_duration =
      std::holds_alternative<absl::Duration Config::*>(option.member) ||
      std::holds_alternative<std::optional<absl::Duration> Config::*>(option.member);
  if (!is_duration) return std::string(option.help);
  return absl::StrCat(option.help, " ", DurationRange(option), ".");
}

}  // namespace gpuscaler
