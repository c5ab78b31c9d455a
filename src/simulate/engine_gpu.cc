#include "simulate/engine_gpu.h"

#include <unistd.h>

#include "base/log.h"

namespace gpuscaler {
namespace {

// A driver's utilization is the mean of the last 1/6 to 1 s.
constexpr absl::Duration kWriteInterval = absl::Milliseconds(500);

}  // namespace

EngineGpu::EngineGpu(const EngineGpuOptions& options, absl::Duration load_time, const Clock& clock)
    : options_(options),
      load_time_(load_time),
      clock_(clock),
      started_at_(clock.Now()),
      busy_(started_at_) {
  if (options_.file.empty()) return;
  Tick();
  thread_ = std::make_unique<PeriodicThread>("gpu file", kWriteInterval, [this] { Tick(); });
}

void EngineGpu::SetServer(const EngineServer& server) {
  {
    MutexLock lock(mutex_);
    server_ = &server;
    busy_ = EngineBusy(clock_.Now());
  }
  if (thread_ != nullptr) thread_->Wake();
}

void EngineGpu::Leave() {
  MutexLock lock(mutex_);
  if (!left_) Write({});
  left_ = true;
  server_ = nullptr;
}

void EngineGpu::Tick() {
  MutexLock lock(mutex_);
  if (!left_) Write(Reading());
}

GpuReport EngineGpu::Reading() {
  const absl::Time now = clock_.Now();
  if (server_ == nullptr) {
    const double loaded =
        load_time_ > absl::ZeroDuration() ? absl::FDivDuration(now - started_at_, load_time_) : 1;
    return LoadingGpu(loaded, options_.memory_percent, getpid());
  }
  return {.utilization_percent = busy_.Percent(server_->Totals().busy, now),
          .memory_percent = options_.memory_percent,
          .pid = getpid()};
}

void EngineGpu::Write(const GpuReport& report) {
  if (options_.file.empty()) return;
  const std::string error(WriteGpuReport(options_.file, options_.index, report).message());
  if (!error.empty() && error != last_error_) LogWarn("gpu_file_not_written", {{"why", error}});
  last_error_ = error;
}

}  // namespace gpuscaler
