#include "config/option_value.h"

#include <cstdint>
#include <optional>
#include <variant>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "config/option_words.h"

namespace gpuscaler {
namespace {

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

absl::Status SetNumber(const Option& option, absl::string_view text, int& number) {
  int parsed = 0;
  if (absl::SimpleAtoi(text, &parsed) && parsed >= option.least && parsed <= option.most) {
    number = parsed;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("use a whole number from ", option.least, " to ",
                                                 absl::StrCat(static_cast<int64_t>(option.most))));
}

absl::Status SetSwitch(absl::string_view text, bool& on) {
  if (text != "true" && text != "false") return absl::InvalidArgumentError("use true or false");
  on = text == "true";
  return absl::OkStatus();
}

absl::Status SetDuration(const Option& option, absl::string_view text, absl::Duration& duration) {
  const absl::Duration least = absl::Seconds(option.least);
  const absl::Duration most = absl::Seconds(option.most);
  const absl::StatusOr<absl::Duration> parsed = ParseDuration(text);
  if (!parsed.ok() || *parsed < least || *parsed > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "use a duration with its unit, from ", DurationText(least), " to ", DurationText(most)));
  }
  duration = *parsed;
  return absl::OkStatus();
}

absl::Status SetText(const Option& option, absl::string_view text, std::string& member) {
  if (option.check != nullptr) {
    if (absl::Status checked = option.check(text); !checked.ok()) return checked;
  }
  member = std::string(text);
  return absl::OkStatus();
}

// Set() and, below, TextOf() for each kind of member.
struct Setter {
  const Option& option;
  absl::string_view text;
  Config& config;

  absl::Status operator()(std::string Config::*member) const {
    return SetText(option, text, config.*member);
  }
  absl::Status operator()(PortMember member) const { return SetPort(text, config.*member.port); }
  absl::Status operator()(int Config::*member) const {
    return SetNumber(option, text, config.*member);
  }
  absl::Status operator()(bool Config::*member) const { return SetSwitch(text, config.*member); }
  absl::Status operator()(absl::Duration Config::*member) const {
    return SetDuration(option, text, config.*member);
  }
  absl::Status operator()(std::optional<absl::Duration> Config::*member) const {
    absl::Duration duration;
    absl::Status status = SetDuration(option, text, duration);
    if (status.ok()) config.*member = duration;
    return status;
  }
  template <typename Choice>
  absl::Status operator()(Choice Config::*member) const {
    return SetWord(text, config.*member);
  }
};

struct Texter {
  const Config& config;

  std::string operator()(std::string Config::*member) const { return config.*member; }
  std::string operator()(PortMember member) const {
    return config.*member.port == kAnyPort ? "any" : absl::StrCat(config.*member.port);
  }
  std::string operator()(int Config::*member) const { return absl::StrCat(config.*member); }
  std::string operator()(bool Config::*member) const { return config.*member ? "true" : "false"; }
  std::string operator()(absl::Duration Config::*member) const {
    return DurationText(config.*member);
  }
  std::string operator()(std::optional<absl::Duration> Config::*member) const {
    return config.*member ? DurationText(*(config.*member)) : "";
  }
  template <typename Choice>
  std::string operator()(Choice Config::*member) const {
    return std::string(WordOf(config.*member));
  }
};

}  // namespace

absl::Status Set(const Option& option, absl::string_view text, Config& config) {
  return std::visit(Setter{option, text, config}, option.member);
}

std::string TextOf(const Option& option, const Config& config) {
  return std::visit(Texter{config}, option.member);
}

}  // namespace gpuscaler
