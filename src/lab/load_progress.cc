#include "lab/load_progress.h"

#include <unistd.h>

#include <iostream>
#include <utility>

#include "simulate/load_report.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kLineInterval = absl::Seconds(1);

}  // namespace

LoadProgress::LoadProgress(RateCurve curve, absl::Duration duration)
    : curve_(std::move(curve)), duration_(duration), terminal_(isatty(STDERR_FILENO) != 0) {}

void LoadProgress::Show(LoadRun& run) {
  const absl::Duration passed = run.passed();
  if (passed - shown_at_ < kLineInterval) return;
  const double asked = passed < duration_ ? curve_.RateAt(passed) : 0;
  const std::string line =
      LoadLine(passed, asked, run.tally(), run.TakeRecent(), passed - shown_at_);
  std::cerr << (terminal_ ? "\r" : "") << line << (terminal_ ? "\x1b[K" : "\n") << std::flush;
  shown_at_ = passed;
}

void LoadProgress::End() {
  if (terminal_ && shown_at_ > absl::ZeroDuration()) std::cerr << "\r\x1b[K" << std::flush;
}

}  // namespace gpuscaler
