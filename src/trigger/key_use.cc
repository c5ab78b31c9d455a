#include "trigger/key_use.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "trigger/metric_type.h"
#include "trigger/trigger.h"
#include "trigger/trigger_keys.h"
#include "trigger/trigger_source.h"

namespace gpuscaler {
namespace {

using Length = RedisQueue::Length;

bool MayBeOf(const MetricTypeInfo& metric, absl::string_view engine) {
  return metric.origin == MetricOrigin::kEngine &&
         (metric.engine.empty() || metric.engine == engine);
}

bool IsStream(const MetricTypeInfo& metric) {
  return metric.origin == MetricOrigin::kRedis && metric.length != Length::kList;
}

bool IsUsedBy(const MetricTypeInfo& metric, KeyUse use) {
  const bool is_endpoint = metric.origin == MetricOrigin::kMetricsEndpoint;
  const bool redis = metric.origin == MetricOrigin::kRedis;
  switch (use) {
    case KeyUse::kAny:
      return true;
    case KeyUse::kEngine:
      return metric.origin == MetricOrigin::kEngine;
    case KeyUse::kPressure:
      return metric.type == MetricType::kEnginePressure ||
             metric.type == MetricType::kDemandReplicas;
    case KeyUse::kVllm:
      return MayBeOf(metric, "vllm");
    case KeyUse::kTriton:
      return MayBeOf(metric, "triton");
    case KeyUse::kMetricsEndpoint:
      return is_endpoint;
    case KeyUse::kMetricsEndpointOrGateway:
      return is_endpoint || IsUsedBy(metric, KeyUse::kPressure);
    case KeyUse::kRedis:
      return redis;
    case KeyUse::kRedisStream:
      return IsStream(metric);
    case KeyUse::kRedisGroup:
      return IsStream(metric) && metric.length != Length::kStream;
    case KeyUse::kRedisList:
      return redis && metric.length == Length::kList;
    case KeyUse::kHttp:
      return is_endpoint || metric.origin == MetricOrigin::kEngine;
    case KeyUse::kQueue:
      return is_endpoint || redis;
    case KeyUse::kEndpoint:
      break;
  }
  return metric.origin != MetricOrigin::kGpu;
}

bool IsOfEngines(KeyUse use) {
  return IsUsedBy(InfoOf(MetricType::kEnginePressure), use) && use != KeyUse::kAny;
}

}  // namespace

bool IsUsedBy(const Trigger& trigger, KeyUse use) {
  return IsUsedBy(InfoOf(trigger.metric), use) || (ReadsPressure(trigger) && IsOfEngines(use));
}

std::string UsersOf(KeyUse use) {
  std::vector<absl::string_view> users;
  for (const MetricTypeInfo& metric : MetricTypes()) {
    if (IsUsedBy(metric, use)) users.push_back(metric.name);
  }
  if (IsOfEngines(use)) users.emplace_back("a profile that counts an engine's pressure");
  return JoinedWithOr(users);
}

}  // namespace gpuscaler
