// Which of a pod's servers is its inference engine: whom to ask, and what the answers make of it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/engine_group.h"

namespace gpuscaler {

// One answer that is missed is no loss; a client that waits 2 s for each has missed two.
inline constexpr absl::Duration kEngineLostAfter = absl::Seconds(5);
// An engine that loads a model listens late; whoever has not found one by then asks less often.
inline constexpr absl::Duration kEngineStartsWithin = absl::Minutes(10);
// Who does not answer yet is asked again after so long, while an engine may be starting, and
// seldom later. So is, from the first of these doubling up to the other, who answered as no engine.
inline constexpr absl::Duration kAskAgainAfter = absl::Seconds(5);
inline constexpr absl::Duration kAskSeldom = absl::Seconds(60);

// The first that answers as an engine is taken, and the others are left alone then: a proxy beside
// an engine may show the same page once more. One that has stopped answering stays the pod's until
// another one is found or the pod is elsewhere. Not thread-safe; time comes with each call.
class PodEngine {
 public:
  explicit PodEngine(absl::Time now) : without_since_(now) {}

  // In the order to ask them; of one pod. The engine is nobody's any more where its address is not
  // among theirs: another pod may have it by now. None: they are not known, which is no change.
  // True: the engine was given up.
  bool SetCandidates(const std::vector<EnginePlace>& candidates);

  // The engine, and while it does not answer one candidate at a time.
  std::vector<EnginePlace> ToAsk(absl::Time now);

  enum class Change { kNone, kFound, kLost };
  // What one of those answered; of others it is dropped.
  Change Take(const EnginePlace& place, const EngineUpdate& update);

  // Answering or not; empty: none is found.
  const std::optional<EnginePlace>& engine() const { return engine_; }
  const std::string& name() const { return name_; }  // "vllm"; of the engine
  bool answers() const { return engine_.has_value() && !is_lost_; }

  // Where its servers are has to be looked at now and again.
  bool WantsLook(absl::Time now) const;
  // Each candidate was asked: that none is found is known.
  bool WasAsked() const;
  // Nor will one be found soon.
  bool IsLate(absl::Time now) const { return now - without_since_ >= kEngineStartsWithin; }
  // What its servers said instead, for people: "8000: Connection refused".
  std::string WhyNone() const;

 private:
  struct Candidate {
    EnginePlace place;
    absl::Time ask_at = absl::InfinitePast();
    int answers = 0;  // in a row, as no engine
    absl::Status fault;
  };

  Change TakeOfEngine(const EngineUpdate& update);
  Change TakeOfCandidate(const EngineUpdate& update);
  Change Lose(absl::Time at);
  absl::Duration AskAgainAfter(const Candidate& candidate, absl::Time now) const;
  Candidate* FindCandidate(const EnginePlace& place);

  std::vector<Candidate> candidates_;
  std::optional<EnginePlace> asked_;  // of the candidates: its answer is on its way
  std::optional<EnginePlace> engine_;
  std::string name_;
  bool is_lost_ = false;     // it has not answered for long
  bool is_another_ = false;  // something else answers in its place
  absl::Time failing_since_ = absl::InfiniteFuture();
  absl::Time without_since_;  // an engine that answers
};

}  // namespace gpuscaler
