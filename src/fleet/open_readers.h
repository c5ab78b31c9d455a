// The streams of those that an agent tells something: kept until they have ended, and counted.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"

namespace gpuscaler {

// `Base` is what a stream says that it is when it has ended. Thread-safe.
template <typename Stream, typename Base>
class OpenReaders {
 public:
  struct Counts {
    int open = 0;
    int64_t refused_as_too_many = 0;
    int64_t refused_as_stopping = 0;
  };

  explicit OpenReaders(int most) : most_(most) {}

  // Keeps the stream until Closed(), and returns it. Ends it with `refusal`, with UNAVAILABLE after
  // Stop(), or with RESOURCE_EXHAUSTED if there are too many.
  std::shared_ptr<Stream> Open(std::shared_ptr<Stream> stream,
                               absl::Status refusal = absl::OkStatus()) {
    {
      MutexLock lock(mutex_);
      if (refusal.ok()) refusal = CheckRoom();
      counts_.open += refusal.ok() ? 1 : 0;
      streams_[stream.get()] = {.stream = stream, .counted = refusal.ok()};
    }
    if (!refusal.ok()) stream->End(refusal);
    return stream;
  }

  void Closed(const Base* stream) {
    Record record;  // destroyed without the lock
    MutexLock lock(mutex_);
    const auto found = streams_.find(stream);
    record = std::move(found->second);
    streams_.erase(found);
    counts_.open -= record.counted ? 1 : 0;
    if (streams_.empty()) closed_.NotifyAll();
  }

  // None is told from now on: those that there are end with OK.
  void Stop() {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
    }
    for (const auto& stream : All()) stream->End(absl::OkStatus());
  }

  // After Stop(): until the last one has ended.
  void Wait() {
    MutexLock lock(mutex_);
    while (!streams_.empty()) closed_.Wait(mutex_);
  }

  std::vector<std::shared_ptr<Stream>> All() const {
    MutexLock lock(mutex_);
    std::vector<std::shared_ptr<Stream>> all;
    all.reserve(streams_.size());
    for (const auto& entry : streams_) all.push_back(entry.second.stream);
    return all;
  }

  Counts counts() const {
    MutexLock lock(mutex_);
    return counts_;
  }

 private:
  struct Record {
    std::shared_ptr<Stream> stream;
    bool counted = false;
  };

  absl::Status CheckRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (stopping_) {
      ++counts_.refused_as_stopping;
      return absl::UnavailableError("the agent is stopping");
    }
    if (counts_.open < most_) return absl::OkStatus();
    ++counts_.refused_as_too_many;
    return absl::ResourceExhaustedError(
        absl::StrCat(counts_.open, " readers are told already, at most ", most_));
  }

  const int most_;
  mutable Mutex mutex_;
  CondVar closed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<const Base*, Record> streams_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace gpuscaler
