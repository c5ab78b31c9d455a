// Threads that run what others hand over.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/fair_queue.h"
#include "base/mutex.h"

namespace gpuscaler {

// Thread-safe.
class WorkerThreads {
 public:
  // `name` is what `top -H` shows: 15 characters at most.
  WorkerThreads(const std::string& name, int threads);
  ~WorkerThreads();  // Stop()
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // The bytes of tasks that wait. A tenant may have half of what the others leave.
  static constexpr size_t kMostBytes = size_t{64} << 20;

  // Runs a tenant's tasks in their order; tenants take turns. `bytes` are what the task holds.
  // False, and the task is not run: too many bytes or `most_waiting` tasks of the tenant wait
  // already, or after Stop(). Does not block.
  bool Run(std::function<void()> task, size_t most_waiting, const std::string& tenant = "",
           size_t bytes = 0);

  // Runs what waits, then ends the threads; blocks until it is done. Must not be called on one of
  // them.
  void Stop();

 private:
  void Work();

  Mutex mutex_;
  CondVar changed_;
  FairQueue<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace gpuscaler
