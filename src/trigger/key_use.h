// Which metric types a metadata key is for.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

struct Trigger;

enum class KeyUse {
  kAny,
  kEngine,       // inference engines, be it for a profile's pressure
  kPressure,     // engines, if their pressure or demand counts
  kVllm,         // engines that may be vLLM
  kTriton,       // engines that may be Triton
  kPage,         // prometheus
  kHeld,         // prometheus, and the gateway of a trigger that computes demand
  kRedis,        // every queue of Redis
  kRedisStream,  // its streams
  kRedisGroup,   // what a stream's consumer group tells
  kRedisList,
  kHttp,      // engines and pages
  kQueue,     // pages and queues
  kEndpoint,  // whatever may have an address
};

bool IsUsedBy(const Trigger& trigger, KeyUse use);

// Who uses it: "redis_stream_lag or redis_stream_pending".
std::string UsersOf(KeyUse use);

}  // namespace gpuscaler
