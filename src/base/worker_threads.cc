#include "base/worker_threads.h"

#include <pthread.h>

#include <utility>

namespace gpuscaler {

WorkerThreads::WorkerThreads(const std::string& name, int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
    pthread_setname_np(threads_.back().native_handle(), name.c_str());
  }
}

WorkerThreads::~WorkerThreads() { Stop(); }

bool WorkerThreads::Run(std::function<void()> task, size_t most_waiting) {
  {
    MutexLock lock(mutex_);
    if (stopping_ || waiting_.size() >= most_waiting) return false;
    waiting_.push_back(std::move(task));
  }
  changed_.NotifyOne();
  return true;
}

void WorkerThreads::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void WorkerThreads::Work() {
  while (true) {
    std::function<void()> task;
    {
      MutexLock lock(mutex_);
      while (waiting_.empty() && !stopping_) changed_.Wait(mutex_);
      if (waiting_.empty()) return;
      task = std::move(waiting_.front());
      waiting_.pop_front();
    }
    task();
  }
}

}  // namespace gpuscaler
