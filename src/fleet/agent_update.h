// A message of an agent in our types and on our clock, and the interface that receives it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

// All times are on our own clock.
struct AgentUpdate {
  struct Reading {
    // When the reading before this one was last confirmed. Empty: it was not confirmed after it was
    // taken.
    std::optional<absl::Time> before_until;
    NodeSnapshot snapshot;
  };
  std::string node;       // empty: no reading yet
  uint64_t instance = 0;  // the agent's process
  std::string version;    // the agent's version
  // Namespaces with capacity records of engines that left. Empty: unchanged.
  std::optional<std::set<std::string>> engine_namespaces;
  absl::Time received_at;
  std::vector<Reading> readings;  // oldest first
  // The newest reading, of this message or before, was last confirmed then.
  std::optional<absl::Time> unchanged_until;
  std::string trouble;  // why it has no readings; empty: it has
  // The first implausible value of these readings, which became a gap. Empty: none.
  std::string unbelieved;
  bool more = false;  // more of the past follows at once
};

// Called on the event loop's thread. Must not block.
class AgentListener {
 public:
  virtual ~AgentListener() = default;
  virtual void Received(const std::string& address, AgentUpdate update) = 0;
  // The stream has ended or could not be opened. `why` has a message.
  virtual void Lost(const std::string& address, const absl::Status& why) = 0;
};

}  // namespace gpuscaler
