// The table of options. One row defines the flag, the environment variable, the file key, the help,
// the reference page and the completion.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "role/config.h"

namespace gpuscaler {

// The commands that read an option. File and environment are the same for all commands.
enum OptionUse : unsigned { kServeUses = 1, kGpusUses = 2, kLintUses = 4 };

constexpr unsigned BitOf(Role role) { return 1U << static_cast<unsigned>(role); }
constexpr unsigned kAllRoles =
    BitOf(Role::kStandalone) | BitOf(Role::kAgent) | BitOf(Role::kAggregator);

struct Option {
  using Member = std::variant<std::string Config::*, int Config::*, absl::Duration Config::*,
                              std::optional<absl::Duration> Config::*, Role Config::*,
                              LogLevel Config::*, LogFormat Config::*, AttributionMode Config::*,
                              DiscoverEngines Config::*, AgentIdentity Config::*>;

  absl::string_view name;  // stale-after
  Member member;           // &Config::stale_after
  // Placeholder in the help, as DURATION. A number with PORT is a port, or "any". Empty: a switch.
  absl::string_view value;
  absl::string_view help;
  unsigned used_by = kServeUses;
  unsigned roles = kAllRoles;  // roles of `serve` that read it, as BitOf()
  // The range of a number, or of a duration in seconds.
  double least = 0;
  double most = std::numeric_limits<double>::max();
  absl::Status (*check)(absl::string_view text) = nullptr;  // texts only
  absl::string_view default_text = "";                      // if the default is not a fixed value
};

std::span<const Option> Options();
const Option* FindOption(absl::string_view name);  // null: unknown
std::vector<absl::string_view> OptionNames();

std::string EnvironmentName(const Option& option);  // KEDA_GPU_SCALER_STALE_AFTER

}  // namespace gpuscaler
