// Counters of successful and failed reads of sources, by kind.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "model/signal_source.h"

namespace gpuscaler {

// Kinds of sources that triggers address. Discovered engines are counted where they are discovered.
enum class SignalKind { kEngine, kPage, kRedis };
inline constexpr std::array kSignalKinds = {SignalKind::kEngine, SignalKind::kPage,
                                            SignalKind::kRedis};

absl::string_view Name(SignalKind kind);                       // "engine", "page", "redis"
std::optional<SignalKind> KindOf(const SignalSource& source);  // empty: discovered engines

// The outcome of an attempt to read a source.
struct SignalAttempt {
  int read = 0;  // successful reads of an address
  int failed = 0;
  absl::Time read_at = absl::InfinitePast();  // time of the last success
};

struct SignalCounts {
  int64_t read = 0;  // since the process started; so is `failed`
  int64_t failed = 0;
  size_t sources = 0;  // being read now
  // Last successful read, or creation, of the source for which that is longest ago.
  absl::Time oldest = absl::InfiniteFuture();
};
using SignalCountsByKind = std::array<SignalCounts, kSignalKinds.size()>;

}  // namespace gpuscaler
