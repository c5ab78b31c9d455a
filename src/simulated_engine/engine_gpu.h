// The GPU of a simulated engine, kept up to date in a file of simulated GPUs.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "simulated_engine/engine_busy.h"
#include "simulated_engine/engine_server.h"
#include "simulated_engine/gpu_slot.h"

namespace gpuscaler {

struct EngineGpuOptions {
  std::string file;  // empty: none is shown
  int index = 0;
  double memory_percent = 90;  // vLLM's --gpu-memory-utilization, of which it takes 0.9
};

// Shows a loading engine from the start. Thread-safe.
class EngineGpu {
 public:
  EngineGpu(const EngineGpuOptions& options, absl::Duration load_time, const Clock& clock);
  ~EngineGpu() { Leave(); }

  void Serves(const EngineServer& server);  // from now on, until Leave(); server outlives that
  void Leave();                             // frees the GPU; the last thing that is shown

 private:
  void Tick();
  GpuShown Reading() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Show(const GpuShown& shown) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const EngineGpuOptions options_;
  const absl::Duration load_time_;
  const Clock& clock_;
  const absl::Time started_at_;
  const GpuSlot slot_;
  Mutex mutex_;
  const EngineServer* server_ ABSL_GUARDED_BY(mutex_) = nullptr;
  bool left_ ABSL_GUARDED_BY(mutex_) = false;
  EngineBusy busy_ ABSL_GUARDED_BY(mutex_);
  std::string complaint_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<PeriodicThread> thread_;  // null: nothing is shown
};

}  // namespace gpuscaler
