// The demo's load: a LoadRun on its own thread.
#pragma once

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "lab/load_shape.h"
#include "simulate/load_run.h"
#include "simulate/sender.h"

namespace gpuscaler {

class DemoLoad {
 public:
  // Starts at once, `speed` times as fast. The sender must outlive it. `first_id` as in LoadRun.
  DemoLoad(const LoadShape& shape, int speed, Sender& sender, int64_t first_id = 0);
  ~DemoLoad() { Stop(); }
  DemoLoad(const DemoLoad&) = delete;
  DemoLoad& operator=(const DemoLoad&) = delete;

  bool done() const { return done_; }  // all requests are answered

  // Stops the load and returns its result in real time. Requests without an answer never get one.
  const LoadTally& Stop();

 private:
  const SteadyClock clock_;
  LoadRun run_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace gpuscaler
