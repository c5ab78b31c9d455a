// What an agent tells, and who is told: between the streams and what is made of them.
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

// What a message of an agent says, all times on our own clock.
struct AgentUpdate {
  struct Reading {
    // When the reading before was last found unchanged; empty: not after it was taken.
    std::optional<absl::Time> before_until;
    NodeSnapshot snapshot;
  };
  std::string node;       // empty: it has not read anything yet
  uint64_t instance = 0;  // of the agent's process
  std::string version;    // of its program
  // Namespaces of engines that left and that it remembers; empty: as before.
  std::optional<std::set<std::string>> engine_namespaces;
  absl::Time received_at;
  std::vector<Reading> readings;  // oldest first
  // The newest reading, of this message or before, was found unchanged until then.
  std::optional<absl::Time> unchanged_until;
  std::string trouble;  // why it reads nothing; empty: it reads
  // Of these readings the first that cannot be, and became a gap; empty: all can be.
  std::string unbelieved;
  bool more = false;  // of the past: the newest reading follows at once
};

// Called on the thread of the streams' loop. Must not block.
class AgentListener {
 public:
  virtual ~AgentListener() = default;
  virtual void Received(const std::string& address, AgentUpdate update) = 0;
  // The stream has ended, or none came about; `why` has a text.
  virtual void Lost(const std::string& address, const absl::Status& why) = 0;
};

}  // namespace gpuscaler
