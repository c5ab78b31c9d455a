// An agent's message, decoded, with times of the local clock, and the interface that receives it.
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

// All times are on the local clock.
struct AgentUpdate {
  struct Reading {
    // When the agent last read the same as in the previous reading. Empty: it did not read the same
    // again.
    std::optional<absl::Time> previous_confirmed_at;
    NodeSnapshot snapshot;
  };
  std::string node;       // empty: no reading yet
  uint64_t instance = 0;  // the agent's process
  std::string version;    // the agent's version
  // Namespaces with capacity records of engines that left. Empty: unchanged.
  std::optional<std::set<std::string>> engine_namespaces;
  absl::Time received_at;
  std::vector<Reading> readings;  // oldest first
  // When the agent last read the same as in the newest reading, of this message or an earlier one.
  // Empty: it has not read the same again.
  std::optional<absl::Time> newest_confirmed_at;
  std::string trouble;  // why its node has no fresh reading; empty: it has one
  // The first implausible value of these readings, which became a gap. Empty: none.
  std::string implausible;
  bool more = false;  // more of the history follows at once
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
