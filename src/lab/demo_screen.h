// The demo's output: redrawn in place on a terminal, line by line elsewhere.
#pragma once

#include <vector>

#include "absl/time/time.h"
#include "base/clock.h"
#include "lab/demo_chart.h"

namespace gpuscaler {

// Writes to standard output. Not thread-safe.
class DemoScreen {
 public:
  explicit DemoScreen(DemoSetting setting);
  ~DemoScreen();

  // Stores the frame, and draws if enough real time has passed or replicas changed.
  void Show(const DemoFrame& frame);

  // Draws the last frame.
  void Finish();

 private:
  void Draw();

  const DemoSetting setting_;
  const bool terminal_;
  const SteadyClock clock_;
  std::vector<DemoFrame> frames_;
  absl::Time drawn_at_ = absl::InfinitePast();
  absl::Duration printed_at_ = -absl::InfiniteDuration();  // simulated time
  size_t lines_ = 0;                                       // on the screen
};

}  // namespace gpuscaler
