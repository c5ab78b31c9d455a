// The metric types that can use a metadata key.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

struct Trigger;

enum class KeyUse {
  kAny,
  kEngine,                    // inference engines, also for a profile's pressure
  kPressure,                  // engines, if their pressure or demand counts
  kVllm,                      // engines that may be vLLM
  kTriton,                    // engines that may be Triton
  kMetricsEndpoint,           // prometheus
  kMetricsEndpointOrGateway,  // prometheus, and the gateway of a trigger that computes demand
  kRedis,                     // queues of Redis
  kRedisStream,               // streams of Redis
  kRedisGroup,                // consumer groups of streams
  kRedisList,
  kHttp,      // engines and metrics endpoints
  kQueue,     // metrics endpoints and queues
  kEndpoint,  // anything with an address
};

bool IsUsedBy(const Trigger& trigger, KeyUse use);

// Returns the metric types that can use it: "redis_stream_lag or redis_stream_pending".
std::string UsersOf(KeyUse use);

}  // namespace gpuscaler
