// A reader of queues in Redis that collects its readings, for tests.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "signal/redis_reader.h"
#include "signal/test_redis.h"

namespace gpuscaler {

using QueueLength = RedisQueue::Length;

inline RedisTarget TargetAt(int port, QueueLength length, const std::string& key,
                            const std::string& address = "127.0.0.1") {
  RedisTarget target;
  target.source = {.namespace_name = "team-a",
                   .target = RedisQueue{.address = absl::StrCat("localhost:", port),
                                        .length = length,
                                        .key = key,
                                        .group = "workers"}};
  target.server.place.host = "localhost";
  target.server.place.port = port;
  target.addresses = {*ParseIpAddress(address)};
  return target;
}

inline RedisTarget TargetOf(const TestRedis& redis, QueueLength length,
                            const std::string& key = "jobs") {
  return TargetAt(redis.port(), length, key);
}

// Polls so often that tests need not wait. Its timeout is the default one.
class TestReading {
 public:
  using Length = absl::StatusOr<double>;

  explicit TestReading(const RedisLimits& limits = {.interval = absl::Milliseconds(20)})
      : reader_(clock_, rules_, limits, [this](const RedisReading& reading) { Take(reading); }) {}

  RedisReader& reader() { return reader_; }

  // Returns the first new reading for which `should` is true, or the newest one after 10 s.
  Length Await(const SignalSource& source, const std::function<bool(const Length&)>& should) {
    const absl::Time deadline = clock_.Now() + absl::Seconds(10);
    MutexLock lock(mutex_);
    reported_.erase(source);
    while (clock_.Now() < deadline) {
      const auto found = reported_.find(source);
      if (found != reported_.end() && should(found->second)) break;
      changed_.WaitFor(mutex_, deadline - clock_.Now());
    }
    const auto found = reported_.find(source);
    return found == reported_.end() ? absl::InternalError("nothing was reported") : found->second;
  }

  Length Next(const SignalSource& source) {
    return Await(source, [](const Length&) { return true; });
  }
  Length AwaitLength(const SignalSource& source, double length) {
    return Await(source,
                 [&](const Length& reported) { return reported.ok() && *reported == length; });
  }
  absl::Status AwaitFailure(const SignalSource& source, absl::StatusCode code) {
    return Await(source, [&](const Length& reported) { return reported.status().code() == code; })
        .status();
  }

  // Uses the newest reading.
  std::string NoteOf(const SignalSource& source) {
    MutexLock lock(mutex_);
    return notes_[source];
  }

  int64_t readings() {
    MutexLock lock(mutex_);
    return readings_;
  }

 private:
  // Copies the status, because ThreadSanitizer does not see abseil's reference counting.
  static Length Copy(const Length& length) {
    if (length.ok()) return *length;
    return absl::Status(length.status().code(), std::string(length.status().message()));
  }

  void Take(const RedisReading& reading) {
    MutexLock lock(mutex_);
    reported_.insert_or_assign(reading.source, Copy(reading.length));
    notes_[reading.source] = reading.note;
    ++readings_;
    changed_.NotifyAll();
  }

  const SteadyClock clock_;
  const EndpointRules rules_{AllowedEndpoints()};
  Mutex mutex_;
  CondVar changed_;
  std::map<SignalSource, Length> reported_ ABSL_GUARDED_BY(mutex_);
  std::map<SignalSource, std::string> notes_ ABSL_GUARDED_BY(mutex_);
  int64_t readings_ ABSL_GUARDED_BY(mutex_) = 0;
  RedisReader reader_;
};

}  // namespace gpuscaler
