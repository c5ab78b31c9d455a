// What became of the readings that triggers want, by kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/signal_source.h"

namespace gpuscaler {

// Of sources that triggers name. Engines that are found are counted where they are found.
enum class SignalKind { kEngine, kPage, kRedis };
inline constexpr std::array kSignalKinds = {SignalKind::kEngine, SignalKind::kPage,
                                            SignalKind::kRedis};

absl::string_view Name(SignalKind kind);                       // "engine", "page", "redis"
std::optional<SignalKind> KindOf(const SignalSource& source);  // empty: of found engines

// What came of trying to read a source.
struct SignalAttempt {
  int read = 0;  // at an address
  int failed = 0;
  absl::Time read_at = absl::InfinitePast();  // that it was
};

struct SignalCounts {
  int64_t read = 0;  // since the process began, as `failed`
  int64_t failed = 0;
  size_t sources = 0;  // that are read now
  // When the one of them was last read, or first wanted, for which that is longest ago.
  absl::Time oldest = absl::InfiniteFuture();
};
using SignalCountsByKind = std::array<SignalCounts, kSignalKinds.size()>;

}  // namespace gpuscaler
