#include "lab/demo_load.h"

#include <pthread.h>

#include <algorithm>

#include "simulate/arrivals.h"

namespace gpuscaler {
namespace {

// An infinite load is steady.
constexpr absl::Duration kLongest = absl::Hours(24);  // real time

}  // namespace

DemoLoad::DemoLoad(const LoadShape& shape, int speed, Sender& sender, int64_t first_id)
    : run_({.concurrency = 100'000, .timeout = absl::InfiniteDuration()},
           Arrivals(shape.Curve(speed), std::min(shape.End() / speed, kLongest), Spacing::kEven, 1),
           sender, clock_, first_id),
      thread_([this] {
        run_.Run([this] { return !stopping_; });
        done_ = true;
      }) {
  pthread_setname_np(thread_.native_handle(), "load");
}

const LoadTally& DemoLoad::Stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  return run_.tally();
}

}  // namespace gpuscaler
