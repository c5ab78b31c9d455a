#include "base/worker_threads.h"

#include <pthread.h>

#include <optional>
#include <utility>

namespace gpuscaler {

WorkerThreads::WorkerThreads(const std::string& name, int threads)
    : waiting_(static_cast<size_t>(threads)) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
    pthread_setname_np(threads_.back().native_handle(), name.c_str());
  }
}

WorkerThreads::~WorkerThreads() { Stop(); }

bool WorkerThreads::Run(std::function<void()> task, size_t most_waiting, const std::string& tenant,
                        size_t bytes) {
  {
    MutexLock lock(mutex_);
    if (stopping_ || waiting_.Waiting(tenant) >= most_waiting) return false;
    if (waiting_.bytes() + waiting_.BytesOf(tenant) + 2 * bytes > kMaxBytes) return false;
    waiting_.Push(tenant, std::move(task), bytes);
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
    std::optional<FairQueue<std::function<void()>>::Turn> turn;
    {
      MutexLock lock(mutex_);
      while (!(turn = waiting_.Next()).has_value() && !stopping_) changed_.Wait(mutex_);
    }
    if (!turn.has_value()) return;
    turn->task();
    MutexLock lock(mutex_);
    waiting_.Done(turn->tenant);
  }
}

}  // namespace gpuscaler
