// The demo's load: what `load` does, on a thread of its own.
#pragma once

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "demo/load_shape.h"
#include "load/load_run.h"
#include "load/sender.h"

namespace gpuscaler {

class DemoLoad {
 public:
  // Begins at once, `speed` times as fast. The sender outlives it. `first_id` as of LoadRun.
  DemoLoad(const LoadShape& shape, int speed, Sender& sender, int64_t first_id = 0);
  ~DemoLoad() { Stop(); }
  DemoLoad(const DemoLoad&) = delete;
  DemoLoad& operator=(const DemoLoad&) = delete;

  bool done() const { return done_; }  // all is answered

  // What it came to, in real time; what is not answered yet never will be.
  const LoadTally& Stop();

 private:
  const SteadyClock clock_;
  LoadRun run_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace gpuscaler
