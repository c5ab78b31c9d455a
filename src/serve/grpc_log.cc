#include "serve/grpc_log.h"

#include <grpc/support/log.h>

#include <cstring>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"

namespace gpuscaler {
namespace {

class RateLimit {
 public:
  // False: drop this one. Else `dropped` is how many were since the last one that passed.
  bool Passes(int64_t& dropped) {
    MutexLock lock(mutex_);
    const absl::Time now = clock_.Now();
    if (now - period_began_ >= kPeriod) {
      period_began_ = now;
      passed_ = 0;
    }
    if (passed_ == kPerPeriod) {
      ++dropped_;
      return false;
    }
    ++passed_;
    dropped = dropped_;
    dropped_ = 0;
    return true;
  }

 private:
  static constexpr absl::Duration kPeriod = absl::Seconds(10);
  static constexpr int kPerPeriod = 10;

  const SteadyClock clock_;
  Mutex mutex_;
  absl::Time period_began_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  int passed_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t dropped_ ABSL_GUARDED_BY(mutex_) = 0;
};

// What gRPC calls an error is some client's trouble more often than ours.
LogLevel LevelOf(gpr_log_severity severity) {
  return severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::kWarn : LogLevel::kDebug;
}

void Write(gpr_log_func_args* args) {
  static RateLimit& limit = *new RateLimit;  // gRPC's threads may log until the process ends
  int64_t dropped = 0;
  if (!limit.Passes(dropped)) return;
  const char* const slash = std::strrchr(args->file, '/');
  Log(LevelOf(args->severity), "grpc",
      {{"message", args->message},
       {"file", slash == nullptr ? args->file : slash + 1},
       {"line", args->line},
       {"dropped", dropped}});
}

}  // namespace

void TakeOverGrpcLog() { gpr_set_log_function(&Write); }

}  // namespace gpuscaler
