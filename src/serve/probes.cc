#include "serve/probes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "base/log.h"

namespace gpuscaler {
namespace {

constexpr int kUnavailable = 503;

}  // namespace

Probes::Probes(const Clock& clock, absl::Duration hang_after, std::string thread)
    : clock_(clock),
      hang_after_(hang_after),
      thread_(std::move(thread)),
      ticked_at_ns_(absl::ToUnixNanos(clock.Now())) {}

void Probes::Ticked() { ticked_at_ns_ = absl::ToUnixNanos(clock_.Now()); }

void Probes::SetServing() {
  State starting = State::kStarting;
  state_.compare_exchange_strong(starting, State::kServing);
}

void Probes::SetStopping() { state_ = State::kStopping; }

HttpReply Probes::Healthz() const {
  const absl::Duration age = clock_.Now() - absl::FromUnixNanos(ticked_at_ns_);
  const bool hung = age > hang_after_;
  if (hung && !said_hung_.exchange(true)) {
    LogError("thread_hangs", {{"thread", thread_},
                              {"age_seconds", absl::ToDoubleSeconds(age)},
                              {"hang_after_seconds", absl::ToDoubleSeconds(hang_after_)}});
  }
  if (!hung && said_hung_.exchange(false)) LogInfo("thread_moves_again", {{"thread", thread_}});
  if (!hung) return {.body = "ok\n"};
  return {.status = kUnavailable,
          .body = absl::StrCat("the thread ", thread_, " has not moved for ",
                               DurationText(absl::Trunc(age, absl::Milliseconds(1))),
                               ", --hang-after=", DurationText(hang_after_), "\n")};
}

HttpReply Probes::Readyz() const {
  const State state = state_;
  if (state == State::kServing) return {.body = "ok\n"};
  return {.status = kUnavailable, .body = state == State::kStarting ? "starting\n" : "stopping\n"};
}

}  // namespace gpuscaler
