#include "serve/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <cstring>
#include <string>

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

// What they call an error is some client's trouble more often than ours.
LogLevel LevelOf(bool error) { return error ? LogLevel::kWarn : LogLevel::kDebug; }

void Write(bool error, absl::string_view message, const char* file, int line) {
  static RateLimit& limit = *new RateLimit;  // gRPC's threads may log until the process ends
  int64_t dropped = 0;
  if (!limit.Passes(dropped)) return;
  const char* const slash = std::strrchr(file, '/');
  Log(LevelOf(error), "grpc",
      {{"message", message},
       {"file", slash == nullptr ? file : slash + 1},
       {"line", line},
       {"dropped", dropped}});
}

void WriteGrpc(gpr_log_func_args* args) {
  Write(args->severity == GPR_LOG_SEVERITY_ERROR, args->message, args->file, args->line);
}

void WriteProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                   const std::string& message) {
  Write(level >= google::protobuf::LOGLEVEL_ERROR, message, file, line);
}

}  // namespace

void TakeOverGrpcLog() {
  gpr_set_log_function(&WriteGrpc);
  google::protobuf::SetLogHandler(&WriteProtobuf);
}

}  // namespace gpuscaler
