// Sources of demand besides GPUs: engines, metrics endpoints and queues.
#pragma once

#include <string>
#include <variant>

namespace gpuscaler {

// Engines that agents find in pods of the trigger's scope, without a configured address.
struct DiscoveredEngines {
  friend auto operator<=>(const DiscoveredEngines&, const DiscoveredEngines&) = default;
};

// Engines at each address of a host name.
struct EngineEndpoint {
  std::string url;     // "http://llm:8000", with a path if it is not the usual one
  std::string engine;  // "vllm"; empty: any

  friend auto operator<=>(const EngineEndpoint&, const EngineEndpoint&) = default;
};

// Metrics at each address of a host name that belongs to no replica: those of a gateway.
struct MetricsEndpoint {
  std::string url;
  std::string selector;  // page/prometheus_metric.h
  bool rate = false;     // growth per second; else the value
  // An endpoint that was read completely and has none of the series counts as 0. Else it is
  // unknown.
  bool zero_if_absent = false;

  friend auto operator<=>(const MetricsEndpoint&, const MetricsEndpoint&) = default;
};

struct RedisQueue {
  enum class Length {
    kStream,   // XLEN: entries, read or not
    kLag,      // entries that `group` has not read yet
    kPending,  // entries that `group` has read and not acknowledged
    kList,     // LLEN
  };
  std::string address;  // "redis:6379"
  int database = 0;
  bool tls = false;
  Length length = Length::kStream;
  std::string key;    // stream or list
  std::string group;  // set for kLag and kPending

  friend auto operator<=>(const RedisQueue&, const RedisQueue&) = default;
};

// Secret, except for the alias: never logged, never exported.
struct EndpointCredentials {
  std::string alias;         // in the scaler's own credentials file; the rest is then empty
  std::string username;      // Redis only
  std::string password;      // Redis only
  std::string bearer_token;  // HTTP only
  std::string ca_pem;        // the server's authority; empty: the system's authorities

  friend auto operator<=>(const EndpointCredentials&, const EndpointCredentials&) = default;
};

// Equal sources are read once for all triggers.
struct SignalSource {
  std::string namespace_name;  // the ScaledObject's: limits the endpoints that it may name
  std::variant<DiscoveredEngines, EngineEndpoint, MetricsEndpoint, RedisQueue> target;
  EndpointCredentials credentials;

  friend auto operator<=>(const SignalSource&, const SignalSource&) = default;
};

}  // namespace gpuscaler
