#include "signal/engine_prober.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gpuscaler {
namespace {

// UNAVAILABLE: nothing listens yet, or the server is loading. Any other error is from a server that
// is no engine, or did not answer in time.
bool MayBeLoading(const absl::Status& fault) { return absl::IsUnavailable(fault); }

}  // namespace

bool EngineProber::SetCandidates(const std::vector<EngineAddress>& candidates) {
  if (candidates.empty()) return false;
  std::vector<Candidate> before = std::exchange(candidates_, {});
  for (const EngineAddress& engine_address : candidates) {
    const auto known = std::ranges::find(before, engine_address, &Candidate::engine_address);
    candidates_.push_back(known == before.end() ? Candidate{.engine_address = engine_address}
                                                : std::move(*known));
  }
  if (probed_.has_value() && FindCandidate(*probed_) == nullptr) probed_.reset();
  const bool is_elsewhere =
      engine_.has_value() &&
      std::ranges::none_of(candidates, [this](const EngineAddress& engine_address) {
        return engine_address.address == engine_->address;
      });
  if (!is_elsewhere) return false;
  engine_.reset();
  is_lost_ = is_replaced_ = false;
  failing_since_ = absl::InfiniteFuture();
  return true;
}

std::vector<EngineAddress> EngineProber::Targets(absl::Time now) {
  std::vector<EngineAddress> targets;
  if (engine_.has_value() && !is_replaced_) targets.push_back(*engine_);
  if (answers()) {
    probed_.reset();
    return targets;
  }
  if (!probed_.has_value()) {
    const auto due = std::ranges::find_if(candidates_, [&](const Candidate& candidate) {
      return candidate.probe_at <= now && (is_replaced_ || candidate.engine_address != engine_);
    });
    if (due != candidates_.end()) probed_ = due->engine_address;
  }
  if (probed_.has_value()) targets.push_back(*probed_);
  return targets;
}

EngineProber::Change EngineProber::Take(const EngineAddress& engine_address,
                                        const EngineUpdate& update) {
  if (engine_address == engine_ && !is_replaced_) return TakeOfEngine(update);
  if (engine_address == probed_) return TakeOfCandidate(update);
  return Change::kNone;
}

EngineProber::Change EngineProber::TakeOfEngine(const EngineUpdate& update) {
  if (update.reading.ok()) {
    name_ = std::string(update.engine);
    failing_since_ = absl::InfiniteFuture();
    return std::exchange(is_lost_, false) ? Change::kFound : Change::kNone;
  }
  is_replaced_ = update.engine.empty();
  failing_since_ = std::min(failing_since_, update.at);
  const bool is_gone = FindCandidate(*engine_) == nullptr;
  const bool is_long = update.at - failing_since_ >= kEngineLostAfter;
  return !is_lost_ && (is_replaced_ || is_gone || is_long) ? MarkLost(update.at) : Change::kNone;
}

// Starts again with the pod's other servers.
EngineProber::Change EngineProber::MarkLost(absl::Time at) {
  is_lost_ = true;
  without_since_ = at;
  for (Candidate& candidate : candidates_) candidate = {.engine_address = candidate.engine_address};
  return Change::kLost;
}

EngineProber::Change EngineProber::TakeOfCandidate(const EngineUpdate& update) {
  const EngineAddress engine_address = *std::exchange(probed_, std::nullopt);
  Candidate* const candidate = FindCandidate(engine_address);
  if (!update.reading.ok()) {
    candidate->fault = update.reading.status();
    candidate->answers = MayBeLoading(candidate->fault) ? 0 : candidate->answers + 1;
    candidate->probe_at = update.at + ProbeInterval(*candidate, update.at);
    return Change::kNone;
  }
  engine_ = engine_address;
  name_ = std::string(update.engine);
  is_lost_ = is_replaced_ = false;
  failing_since_ = absl::InfiniteFuture();
  candidate->fault = absl::OkStatus();
  return Change::kFound;
}

absl::Duration EngineProber::ProbeInterval(const Candidate& candidate, absl::Time now) const {
  if (candidate.answers == 0) return HasStartTimedOut(now) ? kSlowProbeInterval : kProbeInterval;
  absl::Duration after = kProbeInterval;
  for (int i = 0; i < candidate.answers && after < kSlowProbeInterval; ++i) after *= 2;
  return std::min(after, kSlowProbeInterval);
}

EngineProber::Candidate* EngineProber::FindCandidate(const EngineAddress& engine_address) {
  const auto found = std::ranges::find(candidates_, engine_address, &Candidate::engine_address);
  return found == candidates_.end() ? nullptr : &*found;
}

bool EngineProber::NeedsSearch(absl::Time now) const {
  const bool is_failing = failing_since_ != absl::InfiniteFuture();
  return is_failing ? !is_lost_ || !HasStartTimedOut(now)
                    : !engine_.has_value() && !HasStartTimedOut(now);
}

bool EngineProber::WasProbed() const {
  return engine_.has_value() || std::ranges::all_of(candidates_, [](const Candidate& candidate) {
           return candidate.probe_at != absl::InfinitePast();
         });
}

std::string EngineProber::WhyNone() const {
  constexpr size_t kShown = 4;
  std::vector<std::string> faults;
  for (const Candidate& candidate : candidates_) {
    if (faults.size() < kShown && !candidate.fault.ok()) {
      faults.push_back(std::string(candidate.fault.message()));
    }
  }
  if (faults.empty()) return "none of its servers was probed yet";
  const bool may_load = std::ranges::all_of(candidates_, [](const Candidate& candidate) {
    return candidate.fault.ok() || MayBeLoading(candidate.fault);
  });
  return absl::StrCat(may_load ? "no engine answers yet, as while a model loads: "
                               : "none of its servers is a known engine: ",
                      absl::StrJoin(faults, "; "),
                      candidates_.size() > faults.size() ? " ..." : "");
}

}  // namespace gpuscaler
