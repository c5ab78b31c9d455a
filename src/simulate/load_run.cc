#include "simulate/load_run.h"

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

const LoadTally& LoadRun::Run(absl::FunctionRef<bool()> keep_running) {
  while (!Done()) {
    if (!keep_running()) {
      Stop();
      break;
    }
    QueueDue(passed());
    SendWaiting(passed());
    const std::vector<Answered> answers = sender_.Wait(NextWait(passed()));
    const absl::Duration now = passed();
    for (const Answered& answered : answers) Record(answered, now);
    tally_.in_flight = static_cast<int>(in_flight_.size());
    tally_.waiting = static_cast<int64_t>(waiting_.size());
  }
  return tally_;
}

void LoadRun::QueueDue(absl::Duration now) {
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
    } else if (static_cast<int>(in_flight_.size()) < limits_.concurrency) {
      ++tally_.sent;
      if (waited > kLate) ++tally_.late;
      in_flight_.emplace(next_id_, waiting_.front());
      sender_.Send(next_id_++);
    } else {
      return;
    }
    waiting_.pop_front();
  }
}

void LoadRun::Record(const Answered& answered, absl::Duration now) {
  const auto found = in_flight_.find(answered.id);
  if (found == in_flight_.end()) return;
  if (answered.error.empty()) {
    ++tally_.answered;
    tally_.latency.Add(now - found->second);
    recent_.Add(now - found->second);
  } else {
    ++tally_.errors[answered.error];
  }
  in_flight_.erase(found);
}

absl::Duration LoadRun::NextWait(absl::Duration now) const {
  return next_ ? std::clamp(*next_ - now, absl::ZeroDuration(), kLongestPause) : kLongestPause;
}

void LoadRun::Stop() {
  tally_.sending = std::min(passed(), tally_.sending);
  tally_.not_sent += static_cast<int64_t>(waiting_.size());
  tally_.cut_off = static_cast<int64_t>(in_flight_.size());
}

LatencyCounts LoadRun::TakeRecent() { return std::exchange(recent_, LatencyCounts()); }

}  // namespace gpuscaler
