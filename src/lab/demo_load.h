// The demo's load: a LoadRun on its own thread.
#pragma once

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "lab/demo_scenario.h"
#include "simulate/load_run.h"
#include "simulate/sender.h"

namespace gpuscaler {

// Not thread-safe.
class DemoLoad {
 public:
  // Starts at once, and runs the shape `speed` times as fast as it is defined. The sender must
  // outlive the load. `first_id` is the id of the first request (LoadRun).
  DemoLoad(const LoadShape& shape, int speed, Sender& sender, int64_t first_id = 0);
  ~DemoLoad() { Stop(); }
  DemoLoad(const DemoLoad&) = delete;
  DemoLoad& operator=(const DemoLoad&) = delete;

  bool done() const { return done_; }  // all requests are answered, or Stop() was called

  // Stops the load and returns its result, with real durations, not `speed` times as long. Answers
  // that arrive later are not counted.
  const LoadTally& Stop();

 private:
  const SteadyClock clock_;
  LoadRun run_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

}  // namespace gpuscaler
