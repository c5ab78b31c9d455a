// Threads that run what others hand over, in its order.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace gpuscaler {

// Thread-safe.
class WorkerThreads {
 public:
  // `name` is what `top -H` shows: 15 characters at most. At most `most_waiting` tasks wait.
  WorkerThreads(const std::string& name, int threads, size_t most_waiting);
  ~WorkerThreads();  // Stop()
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // False, and the task is not run: too many wait, or after Stop(). Does not block.
  bool Run(std::function<void()> task);

  // Runs what waits, then ends the threads; blocks until it is done. Must not be called on one of
  // them.
  void Stop();

 private:
  void Work();

  const size_t most_waiting_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace gpuscaler
