#include "signal/page_fetcher.h"

#include <curl/curl.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"
#include "signal/curl_library.h"
#include "signal/page_transfer.h"

namespace gpuscaler {
namespace {

CURLM* NewMulti(const FetchLimits& limits) {
  CURLM* const multi = curl_multi_init();
  curl_multi_setopt(multi, CURLMOPT_PIPELINING, long{CURLPIPE_NOTHING});
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, limits.most_connections);
  curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, limits.most_connections);
  return multi;
}

// OpenSSL writes to sockets as to files: a server that has gone would end the process.
void BlockSigpipe() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

class PageFetcher::Loop {
 public:
  Loop(const std::string& name, const FetchLimits& limits)
      : limits_(limits), multi_(NewMulti(limits)), thread_([this] { Run(); }) {
    pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
  }

  ~Loop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    for (auto& [number, fetch] : running_) {
      curl_multi_remove_handle(multi_, fetch->transfer.handle());
    }
    running_.clear();
    curl_multi_cleanup(multi_);
  }

  void Add(PageRequest request, Done done) {
    {
      MutexLock lock(mutex_);
      waiting_.push_back({.request = std::move(request), .done = std::move(done)});
    }
    curl_multi_wakeup(multi_);
  }

 private:
  struct Waiting {
    PageRequest request;
    Done done;
  };
  struct Fetch {
    Fetch(uint64_t number, Waiting from, LargeBodies& large_bodies, absl::Time deadline)
        : number(number),
          transfer(std::move(from.request), large_bodies),
          done(std::move(from.done)),
          deadline(deadline) {}

    const uint64_t number;
    PageTransfer transfer;
    Done done;
    const absl::Time deadline;
  };

  void Run() {
    BlockSigpipe();
    while (Start()) {
      int still_running = 0;
      curl_multi_perform(multi_, &still_running);
      FinishEnded();
      FinishLate();
      curl_multi_poll(multi_, nullptr, 0, MillisecondsToWait(), nullptr);
    }
  }

  // Starts what waits, as many as may run. False: no more of anything.
  bool Start() {
    while (true) {
      Waiting next;
      {
        MutexLock lock(mutex_);
        if (stopping_) return false;
        if (waiting_.empty() || running_.size() >= limits_.most_at_once) return true;
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
      auto fetch = std::make_unique<Fetch>(next_number_++, std::move(next), large_bodies_,
                                           clock_.Now() + limits_.patience);
      if (absl::Status ready = fetch->transfer.Ready(); !ready.ok()) {
        fetch->done(std::move(ready));
        continue;
      }
      curl_easy_setopt(fetch->transfer.handle(), CURLOPT_PRIVATE, fetch.get());
      curl_multi_add_handle(multi_, fetch->transfer.handle());
      const uint64_t number = fetch->number;
      running_.emplace(number, std::move(fetch));
    }
  }

  void FinishEnded() {
    int left = 0;
    while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      const Fetch* ended = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &ended);
      const std::unique_ptr<Fetch> fetch = Remove(ended->number);
      fetch->done(fetch->transfer.Result(code));
    }
  }

  // After what has ended: an answer that came while others were being read is not late.
  void FinishLate() {
    while (!running_.empty() && running_.begin()->second->deadline <= clock_.Now()) {
      absl::Status late = running_.begin()->second->transfer.TimedOut(limits_.patience);
      Remove(running_.begin()->first)->done(std::move(late));
    }
  }

  std::unique_ptr<Fetch> Remove(uint64_t number) {
    const auto found = running_.find(number);
    std::unique_ptr<Fetch> fetch = std::move(found->second);
    running_.erase(found);
    curl_multi_remove_handle(multi_, fetch->transfer.handle());
    return fetch;
  }

  // Until the first deadline; Fetch() and sockets wake earlier. Not longer than a minute, nor than
  // nothing where one waits that could start.
  int MillisecondsToWait() {
    const absl::Duration wait =
        running_.empty() ? absl::Minutes(1) : running_.begin()->second->deadline - clock_.Now();
    MutexLock lock(mutex_);
    if (!waiting_.empty() && running_.size() < limits_.most_at_once) return 0;
    return static_cast<int>(std::clamp<int64_t>(
        absl::ToInt64Milliseconds(absl::Ceil(wait, absl::Milliseconds(1))), 0, 60'000));
  }

  const FetchLimits limits_;
  const SteadyClock clock_;
  CURLM* const multi_;
  LargeBodies large_bodies_;
  std::map<uint64_t, std::unique_ptr<Fetch>> running_;  // by start, and so by deadline
  uint64_t next_number_ = 0;
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last: all else is there when it starts
};

PageFetcher::PageFetcher(const std::string& name, const FetchLimits& limits)
    : loaded_(LoadCurl()), loop_(loaded_.ok() ? std::make_unique<Loop>(name, limits) : nullptr) {}

PageFetcher::~PageFetcher() = default;

void PageFetcher::Fetch(PageRequest request, Done done) {
  if (loop_ == nullptr) return done(loaded_);
  loop_->Add(std::move(request), std::move(done));
}

}  // namespace gpuscaler
