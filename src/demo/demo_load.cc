#include "demo/demo_load.h"

#include <pthread.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_format.h"
#include "load/arrivals.h"
#include "load/rate_curve.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kStep = absl::Seconds(10);  // of the curve, simulated

// A load that does not end is a steady one.
constexpr absl::Duration kLongest = absl::Hours(24);  // real

RateCurve CurveOf(const LoadShape& shape, int speed) {
  if (shape.End() == absl::InfiniteDuration()) return RateCurve::Constant(shape.peak * speed);
  std::string lines;
  for (absl::Duration at; at < shape.End(); at += kStep) {
    absl::StrAppendFormat(&lines, "%.6f %.6f\n", absl::ToDoubleSeconds(at / speed),
                          shape.RateAt(at + kStep / 2) * speed);
  }
  return RateCurve::Parse(lines).value();
}

}  // namespace

DemoLoad::DemoLoad(const LoadShape& shape, int speed, Sender& sender, int64_t first_id)
    : run_({.concurrency = 100'000, .patience = absl::InfiniteDuration()},
           Arrivals(CurveOf(shape, speed), std::min(shape.End() / speed, kLongest), Spacing::kEven,
                    1),
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
