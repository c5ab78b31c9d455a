#include "serve/probes.h"

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/log.h"

namespace gpuscaler {
namespace {

constexpr int kUnavailable = 503;

}  // namespace

Probes::Probes(const Clock& clock, absl::Duration hang_after,
               const std::vector<std::string>& threads)
    : clock_(clock), hang_after_(hang_after) {
  for (const std::string& thread : threads) watched_[thread];
  for (const std::string& thread : threads) Ticked(thread);
}

void Probes::Ticked(absl::string_view thread) {
  watched_.find(thread)->second.ticked_at_ns = absl::ToUnixNanos(clock_.Now());
}

void Probes::SetServing() {
  State starting = State::kStarting;
  state_.compare_exchange_strong(starting, State::kServing);
}

void Probes::SetStopping() { state_ = State::kStopping; }

bool Probes::Hangs(const std::string& thread, const Watched& watched, absl::Duration age) const {
  const bool hangs = age > hang_after_;
  if (watched.logged_hang.exchange(hangs) == hangs) return hangs;
  if (!hangs) {
    LogInfo("thread_recovered", {{"thread", thread}});
    return false;
  }
  LogError("thread_hangs", {{"thread", thread},
                            {"age_seconds", absl::ToDoubleSeconds(age)},
                            {"hang_after_seconds", absl::ToDoubleSeconds(hang_after_)}});
  return true;
}

HttpReply Probes::Healthz() const {
  HttpReply reply{.body = "ok\n"};
  for (const auto& [thread, watched] : watched_) {
    const absl::Duration age = clock_.Now() - absl::FromUnixNanos(watched.ticked_at_ns);
    if (!Hangs(thread, watched, age)) continue;
    reply = {.status = kUnavailable,
             .body = absl::StrCat("the thread ", thread, " has not moved for ",
                                  DurationText(absl::Trunc(age, absl::Milliseconds(1))),
                                  ", --hang-after=", DurationText(hang_after_), "\n")};
  }
  return reply;
}

HttpReply Probes::Readyz() const {
  const State state = state_;
  if (state == State::kServing) return {.body = "ok\n"};
  return {.status = kUnavailable, .body = state == State::kStarting ? "starting\n" : "stopping\n"};
}

}  // namespace gpuscaler
