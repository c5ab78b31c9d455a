// Where a trigger's demand is read, besides GPUs: engines, pages of metrics, queues.
#pragma once

#include <string>
#include <variant>

namespace gpuscaler {

// What agents found on their nodes, in pods of the trigger's scope: nobody named it.
struct DiscoveredEngines {
  friend auto operator<=>(const DiscoveredEngines&, const DiscoveredEngines&) = default;
};

// Engines at each address of a name.
struct EngineEndpoint {
  std::string url;     // "http://llm:8000", with a path where it is not the engine's usual one
  std::string engine;  // "vllm"; empty: whichever the page is of

  friend auto operator<=>(const EngineEndpoint&, const EngineEndpoint&) = default;
};

// A page of metrics at each address of a name, of no replica: a gateway's.
struct MetricsPage {
  std::string url;
  std::string selector;  // page/prometheus_metric.h
  bool rate = false;     // its growth a second; else its value
  // A page that has been read whole and has none of the series says 0; else it is unknown.
  bool zero_if_absent = false;

  friend auto operator<=>(const MetricsPage&, const MetricsPage&) = default;
};

struct RedisQueue {
  enum class Length {
    kStream,   // XLEN: entries, read or not
    kLag,      // of the group: entries not read yet
    kPending,  // of the group: entries read and not acknowledged
    kList,     // LLEN
  };
  std::string address;  // "redis:6379"
  int database = 0;
  bool tls = false;
  Length length = Length::kStream;
  std::string key;    // of the stream or the list
  std::string group;  // of kLag and kPending

  friend auto operator<=>(const RedisQueue&, const RedisQueue&) = default;
};

// Secret, but for the alias: never logged, never on a page.
struct EndpointCredentials {
  std::string alias;         // in the scaler's own file of credentials; the rest is then empty
  std::string username;      // Redis'
  std::string password;      // Redis'
  std::string bearer_token;  // http
  std::string ca_pem;        // who signs its certificate; empty: the system's authorities

  friend auto operator<=>(const EndpointCredentials&, const EndpointCredentials&) = default;
};

// Equal ones are read once for all triggers.
struct SignalSource {
  std::string namespace_name;  // the ScaledObject's: whose endpoints it may name
  std::variant<DiscoveredEngines, EngineEndpoint, MetricsPage, RedisQueue> place;
  EndpointCredentials credentials;

  friend auto operator<=>(const SignalSource&, const SignalSource&) = default;
};

}  // namespace gpuscaler
