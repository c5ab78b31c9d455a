// Finds the inference engine among a pod's servers: which servers to probe, and what their answers
// mean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/engine_group.h"

namespace gpuscaler {

// One missed answer is not a loss, nor are two in a row: each takes at most the timeout of 2 s.
inline constexpr absl::Duration kEngineLostAfter = absl::Seconds(5);
// An engine that loads a model listens late; after this time probes are less frequent.
inline constexpr absl::Duration kEngineStartsWithin = absl::Minutes(10);
// A server that does not answer yet is probed each kProbeInterval while an engine may be starting,
// and each kSlowProbeInterval later. A server that answers but is no engine is probed again after
// twice kProbeInterval, doubled with each answer up to kSlowProbeInterval.
inline constexpr absl::Duration kProbeInterval = absl::Seconds(5);
inline constexpr absl::Duration kSlowProbeInterval = absl::Seconds(60);

// The first server that answers as an engine is chosen, and the others are left alone: a proxy
// beside an engine may show the same metrics again. An engine that stops answering stays chosen
// until another one is found or its address is no longer the pod's. Not thread-safe; each call
// takes the time.
class EngineProber {
 public:
  explicit EngineProber(absl::Time now) : without_since_(now) {}

  // Sets the servers of one pod, in the order to probe them. Empty: unknown, which changes nothing.
  // Returns true if the engine was dropped because its address is no longer among them: another pod
  // may use it by now.
  bool SetCandidates(const std::vector<EngineAddress>& candidates);

  // Returns the engine and, while it does not answer, one candidate at a time.
  std::vector<EngineAddress> Targets(absl::Time now);

  enum class Change { kNone, kFound, kLost };
  // Takes the result of a request to one of the targets; ignores other addresses.
  Change Take(const EngineAddress& engine_address, const EngineUpdate& update);

  // The engine, answering or not; empty: none found.
  const std::optional<EngineAddress>& address() const { return engine_; }
  const std::string& engine() const { return name_; }  // "vllm"
  bool answers() const { return engine_.has_value() && !is_lost_; }

  bool NeedsSearch(absl::Time now) const;
  // Returns true if each candidate was probed, or an engine was found.
  bool WasProbed() const;
  // Returns true if no engine is likely to be found soon.
  bool HasStartTimedOut(absl::Time now) const {
    return now - without_since_ >= kEngineStartsWithin;
  }
  // Returns why no engine was found, human-readable: "8000: Connection refused".
  std::string WhyNone() const;

 private:
  struct Candidate {
    EngineAddress engine_address;
    absl::Time probe_at = absl::InfinitePast();
    int answers = 0;  // answers in a row that were no engine's
    absl::Status fault;
  };

  Change TakeOfEngine(const EngineUpdate& update);
  Change TakeOfCandidate(const EngineUpdate& update);
  Change MarkLost(absl::Time at);
  absl::Duration ProbeInterval(const Candidate& candidate, absl::Time now) const;
  Candidate* FindCandidate(const EngineAddress& engine_address);

  std::vector<Candidate> candidates_;
  std::optional<EngineAddress> probed_;  // a candidate with a probe in flight
  std::optional<EngineAddress> engine_;
  std::string name_;
  bool is_lost_ = false;      // no answer for kEngineLostAfter
  bool is_replaced_ = false;  // something else answers in its place
  absl::Time failing_since_ = absl::InfiniteFuture();
  absl::Time without_since_;  // since when no engine answers
};

}  // namespace gpuscaler
