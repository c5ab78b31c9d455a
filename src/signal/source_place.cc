#include "signal/source_place.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/engines.h"
#include "page/prometheus_metric.h"

namespace gpuscaler {
namespace {

constexpr int kRedisPort = 6379;

absl::Status InKey(absl::string_view key, const absl::Status& fault) {
  return fault.ok() ? fault : absl::Status(fault.code(), absl::StrCat(key, ": ", fault.message()));
}

// "redis", "redis:6379", "[fd00::7]:6379".
absl::StatusOr<HttpEndpoint> RedisEndpoint(const RedisQueue& queue) {
  const bool is_host_and_port =
      !absl::StrContains(queue.address, '/') && !absl::StrContains(queue.address, '@');
  auto endpoint =
      ParseHttpEndpoint(is_host_and_port ? absl::StrCat("http://", queue.address) : std::string());
  if (!endpoint.ok() || !endpoint->path.empty()) {
    return absl::InvalidArgumentError("use HOST or HOST:PORT, such as redis:6379");
  }
  endpoint->tls = queue.tls;
  return endpoint;
}

// The value of a FromEnv key may be a secret, and the parser's errors quote the selector.
absl::Status CheckSelector(const std::string& selector, absl::string_view key) {
  absl::Status fault = ParseMetricSelector(selector).status();
  if (fault.ok() || !absl::EndsWith(key, "FromEnv")) return fault;
  return absl::InvalidArgumentError(
      "its value is no selector of a series, such as NAME or NAME{label=\"value\"}");
}

}  // namespace

absl::StatusOr<HttpEndpoint> EndpointOf(const SignalSource& source) {
  if (const auto* const engines = std::get_if<EngineEndpoint>(&source.target)) {
    return ParseHttpEndpoint(engines->url);
  }
  if (const auto* const page = std::get_if<MetricsEndpoint>(&source.target)) {
    return ParseHttpEndpoint(page->url);
  }
  if (const auto* const queue = std::get_if<RedisQueue>(&source.target)) {
    return RedisEndpoint(*queue);
  }
  return absl::InvalidArgumentError("engines that are found have no address in metadata");
}

int PortOf(const SignalSource& source, const HttpEndpoint& endpoint) {
  if (std::holds_alternative<RedisQueue>(source.target)) return endpoint.PortOr(kRedisPort);
  const auto* engines = std::get_if<EngineEndpoint>(&source.target);
  const Engine* engine = engines == nullptr ? nullptr : EngineNamed(engines->engine);
  return engine == nullptr ? endpoint.PortOfScheme() : endpoint.PortOr(engine->port);
}

absl::Status CheckSource(const SignalSource& source, const EndpointRules& rules,
                         absl::string_view endpoint_key, absl::string_view selector_key) {
  if (std::holds_alternative<DiscoveredEngines>(source.target)) return absl::OkStatus();
  if (const auto* page = std::get_if<MetricsEndpoint>(&source.target)) {
    RETURN_IF_ERROR(InKey(selector_key, CheckSelector(page->selector, selector_key)));
  }
  const auto endpoint = EndpointOf(source);
  RETURN_IF_ERROR(InKey(endpoint_key, endpoint.status()));
  return InKey(endpoint_key, rules.NameToResolve(endpoint->host, source.namespace_name).status());
}

}  // namespace gpuscaler
