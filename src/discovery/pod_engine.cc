#include "discovery/pod_engine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace gpuscaler {
namespace {

// Nobody is there yet, or it is loading; anything else was said by a server that is no engine, or
// by none within the time there is.
bool MayBeLoading(const absl::Status& fault) { return absl::IsUnavailable(fault); }

}  // namespace

bool PodEngine::SetCandidates(const std::vector<EnginePlace>& candidates) {
  if (candidates.empty()) return false;
  std::vector<Candidate> before = std::exchange(candidates_, {});
  for (const EnginePlace& place : candidates) {
    const auto known = std::ranges::find(before, place, &Candidate::place);
    candidates_.push_back(known == before.end() ? Candidate{.place = place} : std::move(*known));
  }
  if (asked_.has_value() && FindCandidate(*asked_) == nullptr) asked_.reset();
  const bool is_elsewhere =
      engine_.has_value() && std::ranges::none_of(candidates, [this](const EnginePlace& place) {
        return place.address == engine_->address;
      });
  if (!is_elsewhere) return false;
  engine_.reset();
  is_lost_ = is_another_ = false;
  failing_since_ = absl::InfiniteFuture();
  return true;
}

std::vector<EnginePlace> PodEngine::ToAsk(absl::Time now) {
  std::vector<EnginePlace> to_ask;
  if (engine_.has_value() && !is_another_) to_ask.push_back(*engine_);
  if (answers()) {
    asked_.reset();
    return to_ask;
  }
  if (!asked_.has_value()) {
    const auto due = std::ranges::find_if(candidates_, [&](const Candidate& candidate) {
      return candidate.ask_at <= now && (is_another_ || candidate.place != engine_);
    });
    if (due != candidates_.end()) asked_ = due->place;
  }
  if (asked_.has_value()) to_ask.push_back(*asked_);
  return to_ask;
}

PodEngine::Change PodEngine::Take(const EnginePlace& place, const EngineUpdate& update) {
  if (place == engine_ && !is_another_) return TakeOfEngine(update);
  if (place == asked_) return TakeOfCandidate(update);
  return Change::kNone;
}

PodEngine::Change PodEngine::TakeOfEngine(const EngineUpdate& update) {
  if (update.reading.ok()) {
    name_ = std::string(update.engine);
    failing_since_ = absl::InfiniteFuture();
    return std::exchange(is_lost_, false) ? Change::kFound : Change::kNone;
  }
  is_another_ = update.engine.empty();
  failing_since_ = std::min(failing_since_, update.at);
  const bool is_gone = FindCandidate(*engine_) == nullptr;
  const bool is_long = update.at - failing_since_ >= kEngineLostAfter;
  return !is_lost_ && (is_another_ || is_gone || is_long) ? Lose(update.at) : Change::kNone;
}

// Its pod's other servers are asked from the beginning.
PodEngine::Change PodEngine::Lose(absl::Time at) {
  is_lost_ = true;
  without_since_ = at;
  for (Candidate& candidate : candidates_) candidate = {.place = candidate.place};
  return Change::kLost;
}

PodEngine::Change PodEngine::TakeOfCandidate(const EngineUpdate& update) {
  const EnginePlace place = *std::exchange(asked_, std::nullopt);
  Candidate* const candidate = FindCandidate(place);
  if (!update.reading.ok()) {
    candidate->fault = update.reading.status();
    candidate->answers = MayBeLoading(candidate->fault) ? 0 : candidate->answers + 1;
    candidate->ask_at = update.at + AskAgainAfter(*candidate, update.at);
    return Change::kNone;
  }
  engine_ = place;
  name_ = std::string(update.engine);
  is_lost_ = is_another_ = false;
  failing_since_ = absl::InfiniteFuture();
  candidate->fault = absl::OkStatus();
  return Change::kFound;
}

absl::Duration PodEngine::AskAgainAfter(const Candidate& candidate, absl::Time now) const {
  if (candidate.answers == 0) return IsLate(now) ? kAskSeldom : kAskAgainAfter;
  absl::Duration after = kAskAgainAfter;
  for (int i = 0; i < candidate.answers && after < kAskSeldom; ++i) after *= 2;
  return std::min(after, kAskSeldom);
}

PodEngine::Candidate* PodEngine::FindCandidate(const EnginePlace& place) {
  const auto found = std::ranges::find(candidates_, place, &Candidate::place);
  return found == candidates_.end() ? nullptr : &*found;
}

bool PodEngine::WantsLook(absl::Time now) const {
  const bool is_failing = failing_since_ != absl::InfiniteFuture();
  return is_failing ? !is_lost_ || !IsLate(now) : !engine_.has_value() && !IsLate(now);
}

bool PodEngine::WasAsked() const {
  return engine_.has_value() || std::ranges::all_of(candidates_, [](const Candidate& candidate) {
           return candidate.ask_at != absl::InfinitePast();
         });
}

std::string PodEngine::WhyNone() const {
  constexpr size_t kShown = 4;
  std::vector<std::string> said;
  for (const Candidate& candidate : candidates_) {
    if (said.size() < kShown && !candidate.fault.ok()) {
      said.push_back(std::string(candidate.fault.message()));
    }
  }
  if (said.empty()) return "none of its servers was asked yet";
  const bool may_load = std::ranges::all_of(candidates_, [](const Candidate& candidate) {
    return candidate.fault.ok() || MayBeLoading(candidate.fault);
  });
  return absl::StrCat(may_load ? "no engine answers yet, as while a model loads: "
                               : "none of its servers is a known engine: ",
                      absl::StrJoin(said, "; "), candidates_.size() > said.size() ? " ..." : "");
}

}  // namespace gpuscaler
