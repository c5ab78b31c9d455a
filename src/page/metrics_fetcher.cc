#include "page/metrics_fetcher.h"

#include <curl/curl.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/fair_queue.h"
#include "base/mutex.h"
#include "base/poll_timeout.h"
#include "page/curl_library.h"
#include "page/scrape_transfer.h"

namespace gpuscaler {
namespace {

CURLM* NewMulti(const FetchLimits& limits) {
  CURLM* const multi = Curl().multi_init();
  Curl().multi_setopt(multi, CURLMOPT_PIPELINING, long{CURLPIPE_NOTHING});
  Curl().multi_setopt(multi, CURLMOPT_MAXCONNECTS, limits.max_connections);
  Curl().multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, limits.max_connections);
  return multi;
}

// OpenSSL uses write(2): a connection closed by its peer would end the process with SIGPIPE.
void BlockSigpipe() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

}  // namespace

class MetricsFetcher::Loop {
 public:
  Loop(const std::string& name, const FetchLimits& limits)
      : limits_(limits),
        multi_(NewMulti(limits)),
        waiting_(limits.max_per_tenant),
        thread_([this] { Run(); }) {
    pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
  }

  ~Loop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    Curl().multi_wakeup(multi_);
    thread_.join();
    for (auto& [number, fetch] : running_) {
      Curl().multi_remove_handle(multi_, fetch->transfer.handle());
    }
    running_.clear();
    Curl().multi_cleanup(multi_);
  }

  void Add(ScrapeRequest request, Done done, const std::string& tenant) {
    {
      MutexLock lock(mutex_);
      waiting_.Push(tenant, {.request = std::move(request), .done = std::move(done)});
    }
    Curl().multi_wakeup(multi_);
  }

 private:
  struct Waiting {
    ScrapeRequest request;
    Done done;
  };
  struct Fetch {
    Fetch(uint64_t number, FairQueue<Waiting>::Turn turn, const FetchLimits& limits,
          absl::Time deadline)
        : number(number),
          tenant(std::move(turn.tenant)),
          transfer(std::move(turn.task.request), limits.response_memory, tenant),
          done(std::move(turn.task.done)),
          deadline(deadline) {}

    const uint64_t number;
    const std::string tenant;
    ScrapeTransfer transfer;
    Done done;
    const absl::Time deadline;
  };

  void Run() {
    BlockSigpipe();
    while (Start()) {
      int still_running = 0;
      Curl().multi_perform(multi_, &still_running);
      FinishEnded();
      FinishLate();
      Curl().multi_poll(multi_, nullptr, 0, MillisecondsToWait(), nullptr);
    }
  }

  // Starts waiting requests up to the limits. Returns false when stopping.
  bool Start() {
    while (true) {
      std::optional<FairQueue<Waiting>::Turn> next;
      {
        MutexLock lock(mutex_);
        if (stopping_) return false;
        if (running_.size() >= limits_.max_concurrent) return true;
        next = waiting_.Next();
        if (!next.has_value()) return true;
      }
      auto fetch = std::make_unique<Fetch>(next_number_++, *std::move(next), limits_,
                                           clock_.Now() + limits_.timeout);
      if (absl::Status ready = fetch->transfer.Ready(); !ready.ok()) {
        End(*fetch);
        fetch->done(std::move(ready));
        continue;
      }
      fetch->transfer.easy().Set(CURLOPT_PRIVATE, fetch.get());
      Curl().multi_add_handle(multi_, fetch->transfer.handle());
      const uint64_t number = fetch->number;
      running_.emplace(number, std::move(fetch));
    }
  }

  void FinishEnded() {
    int left = 0;
    while (const CURLMsg* const message = Curl().multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      const Fetch* ended = nullptr;
      Curl().easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &ended);
      const std::unique_ptr<Fetch> fetch = Remove(ended->number);
      fetch->done(fetch->transfer.Result(code));
    }
  }

  // Called after FinishEnded(): a response that arrived while others were processed is not late.
  void FinishLate() {
    while (!running_.empty() && running_.begin()->second->deadline <= clock_.Now()) {
      absl::Status late = running_.begin()->second->transfer.TimedOut(limits_.timeout);
      Remove(running_.begin()->first)->done(std::move(late));
    }
  }

  std::unique_ptr<Fetch> Remove(uint64_t number) {
    const auto found = running_.find(number);
    std::unique_ptr<Fetch> fetch = std::move(found->second);
    running_.erase(found);
    Curl().multi_remove_handle(multi_, fetch->transfer.handle());
    End(*fetch);
    return fetch;
  }

  // Frees the place for the next request of the tenant.
  void End(const Fetch& fetch) {
    MutexLock lock(mutex_);
    waiting_.Done(fetch.tenant);
  }

  // Returns the time to the first deadline, at most a minute, and 0 if a waiting request can start.
  // Fetch() and sockets wake the thread earlier.
  int MillisecondsToWait() {
    const absl::Duration wait =
        running_.empty() ? absl::Minutes(1) : running_.begin()->second->deadline - clock_.Now();
    MutexLock lock(mutex_);
    if (running_.size() < limits_.max_concurrent && waiting_.HasNext()) return 0;
    return MillisecondsForPoll(wait);
  }

  const FetchLimits limits_;
  const SteadyClock clock_;
  CURLM* const multi_;
  std::map<uint64_t, std::unique_ptr<Fetch>> running_;  // in order of start, and thus of deadline
  uint64_t next_number_ = 0;
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  FairQueue<Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;  // last: the thread uses all other members
};

MetricsFetcher::MetricsFetcher(const std::string& name, const FetchLimits& limits)
    : loaded_(LoadCurl()), loop_(loaded_.ok() ? std::make_unique<Loop>(name, limits) : nullptr) {}

MetricsFetcher::~MetricsFetcher() = default;

void MetricsFetcher::Fetch(ScrapeRequest request, Done done, const std::string& tenant) {
  if (loop_ == nullptr) return done(loaded_);
  loop_->Add(std::move(request), std::move(done), tenant);
}

}  // namespace gpuscaler
