// The GPU of a simulated engine, kept current in a file of simulated GPUs.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "simulate/engine_busy.h"
#include "simulate/engine_server.h"
#include "simulate/gpu_slot.h"

namespace gpuscaler {

struct EngineGpuOptions {
  std::string file;  // empty: no file is written
  int index = 0;
  double memory_percent = 90;  // vLLM's --gpu-memory-utilization, 0.9 by default
};

// Writes a loading engine from the start. Thread-safe.
class EngineGpu {
 public:
  EngineGpu(const EngineGpuOptions& options, absl::Duration load_time, const Clock& clock);
  ~EngineGpu() { Leave(); }

  void SetServer(const EngineServer& server);  // until Leave(), which server must outlive
  void Leave();                                // frees the GPU; nothing is written afterwards

 private:
  void Tick();
  GpuReport Reading() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Write(const GpuReport& report) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const EngineGpuOptions options_;
  const absl::Duration load_time_;
  const Clock& clock_;
  const absl::Time started_at_;
  Mutex mutex_;
  const EngineServer* server_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool left_ ABSL_GUARDED_BY(mutex_) = false;
  EngineBusy busy_ ABSL_GUARDED_BY(mutex_);
  std::string last_error_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<PeriodicThread> thread_;  // null: no file is written
};

}  // namespace gpuscaler
