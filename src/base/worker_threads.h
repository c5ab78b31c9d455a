// A thread pool that runs tasks of many tenants, round-robin.
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

  // Limit on the bytes of waiting tasks. A tenant may have half of what the others leave.
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  // Runs the tasks of a tenant in their order; tenants take turns. `bytes`: memory that the task
  // holds. Returns false, without running the task, if `most_waiting` tasks or too many bytes of
  // the tenant wait already, or after Stop(). Never blocks.
  bool Run(std::function<void()> task, size_t most_waiting, const std::string& tenant = "",
           size_t bytes = 0);

  // Runs the waiting tasks, then ends the threads. Blocks until that is done. Must not be called on
  // one of the threads.
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
