#include "base/periodic_thread.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

namespace gpuscaler {

PeriodicThread::PeriodicThread(const std::string& name, absl::Duration interval,
                               std::function<void()> tick)
    : name_(name), interval_(interval), tick_(std::move(tick)), thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
}

PeriodicThread::~PeriodicThread() {
  Stop(absl::ZeroDuration());
  thread_.join();
}

void PeriodicThread::WakeIn(absl::Duration delay) {
  MutexLock lock(mutex_);
  wake_at_ = std::min(wake_at_, clock_.Now() + delay);
  changed_.NotifyAll();
}

bool PeriodicThread::Stop(absl::Duration timeout) {
  const absl::Time deadline = clock_.Now() + timeout;
  MutexLock lock(mutex_);
  stopping_ = true;
  changed_.NotifyAll();
  while (!ended_ && clock_.Now() < deadline) changed_.WaitFor(mutex_, deadline - clock_.Now());
  return ended_;
}

void PeriodicThread::Run() {
  absl::Time next = clock_.Now();
  while (true) {
    tick_();
    next = std::max(next + interval_, clock_.Now());
    MutexLock lock(mutex_);
    while (!stopping_ && clock_.Now() < std::min(next, wake_at_)) {
      changed_.WaitFor(mutex_, std::min(next, wake_at_) - clock_.Now());
    }
    next = std::min(next, std::max(wake_at_, clock_.Now()));
    wake_at_ = absl::InfiniteFuture();
    if (!stopping_) continue;
    ended_ = true;
    changed_.NotifyAll();
    return;
  }
}

std::vector<std::string> StopAll(const std::vector<PeriodicThread*>& threads,
                                 absl::Duration timeout) {
  const SteadyClock real;
  const absl::Time deadline = real.Now() + timeout;
  for (PeriodicThread* const each : threads) {
    if (each != nullptr) each->Stop(absl::ZeroDuration());
  }
  std::vector<std::string> hanging;
  for (PeriodicThread* const each : threads) {
    const absl::Duration left = std::max(deadline - real.Now(), absl::ZeroDuration());
    if (each != nullptr && !each->Stop(left)) hanging.push_back(each->name());
  }
  return hanging;
}

}  // namespace gpuscaler
