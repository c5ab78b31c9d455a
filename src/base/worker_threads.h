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

  // Runs a tenant's tasks in their order; tenants take turns. False, and the task is not run:
  // `most_waiting` of the tenant wait already, or after Stop(). Does not block.
  bool Run(std::function<void()> task, size_t most_waiting, const std::string& tenant = "");

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
