#include "load/load_run.h"

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

constexpr absl::Duration kLongestPause = absl::Milliseconds(50);

}  // namespace

int64_t ErrorsOf(const LoadTally& tally) {
  int64_t errors = tally.not_sent;
  for (const auto& [kind, count] : tally.errors) errors += count;
  return errors;
}

LoadRun::LoadRun(const LoadLimits& limits, Arrivals arrivals, Sender& sender, const Clock& clock,
                 int64_t first_id)
    : limits_(limits),
      arrivals_(std::move(arrivals)),
      sender_(sender),
      clock_(clock),
      started_at_(clock.Now()),
      next_(arrivals_.Next()),
      next_id_(first_id) {
  tally_.sending = arrivals_.duration();
}

const LoadTally& LoadRun::Run(absl::FunctionRef<bool()> go_on) {
  while (!Done()) {
    if (!go_on()) {
      Stop();
      break;
    }
    TakeDue(passed());
    SendWaiting(passed());
    const std::vector<Answered> answers = sender_.Wait(Pause(passed()));
    const absl::Duration now = passed();
    for (const Answered& answered : answers) Note(answered, now);
    tally_.in_flight = static_cast<int>(under_way_.size());
    tally_.waiting = static_cast<int64_t>(waiting_.size());
  }
  return tally_;
}

void LoadRun::TakeDue(absl::Duration now) {
  for (; next_ && *next_ <= now; next_ = arrivals_.Next()) {
    waiting_.push_back(*next_);
    ++tally_.due;
  }
}

void LoadRun::SendWaiting(absl::Duration now) {
  while (!waiting_.empty()) {
    const absl::Duration waited = now - waiting_.front();
    if (waited > limits_.timeout) {
      ++tally_.not_sent;
    } else if (static_cast<int>(under_way_.size()) < limits_.concurrency) {
      ++tally_.sent;
      if (waited > kLate) ++tally_.late;
      under_way_.emplace(next_id_, waiting_.front());
      sender_.Send(next_id_++);
    } else {
      return;
    }
    waiting_.pop_front();
  }
}

void LoadRun::Note(const Answered& answered, absl::Duration now) {
  const auto found = under_way_.find(answered.id);
  if (found == under_way_.end()) return;
  if (answered.error.empty()) {
    ++tally_.answered;
    tally_.latency.Add(now - found->second);
    recent_.Add(now - found->second);
  } else {
    ++tally_.errors[answered.error];
  }
  under_way_.erase(found);
}

absl::Duration LoadRun::Pause(absl::Duration now) const {
  return next_ ? std::clamp(*next_ - now, absl::ZeroDuration(), kLongestPause) : kLongestPause;
}

void LoadRun::Stop() {
  tally_.sending = std::min(passed(), tally_.sending);
  tally_.not_sent += static_cast<int64_t>(waiting_.size());
  tally_.cut_off = static_cast<int64_t>(under_way_.size());
}

LatencyCounts LoadRun::TakeRecent() { return std::exchange(recent_, LatencyCounts()); }

}  // namespace gpuscaler
