#include "signal/signal_counts.h"

#include <variant>

namespace gpuscaler {

absl::string_view Name(SignalKind kind) {
  switch (kind) {
    case SignalKind::kEngine:
      return "engine";
    case SignalKind::kPage:
      return "page";
    case SignalKind::kRedis:
      return "redis";
  }
  return "";
}

std::optional<SignalKind> KindOf(const SignalSource& source) {
  if (std::holds_alternative<EngineEndpoint>(source.target)) return SignalKind::kEngine;
  if (std::holds_alternative<MetricsEndpoint>(source.target)) return SignalKind::kPage;
  if (std::holds_alternative<RedisQueue>(source.target)) return SignalKind::kRedis;
  return std::nullopt;
}

}  // namespace gpuscaler
