// Reads the lengths of queues in Redis, each of them every interval, for as long as it is wanted.
//
// One thread for all: nothing of it waits but poll(). A thread for each server would cost as many
// stacks as tenants have servers, to wait a millisecond in each second.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "redis/redis_readings.h"

namespace gpuscaler {

struct RedisReading {
  SignalSource source;
  absl::Time at;                  // when the answer was there
  absl::StatusOr<double> length;  // as RedisResult's
  std::string note;               // RedisStep's
};

// Thread-safe.
class RedisReader {
 public:
  using Sink = std::function<void(const RedisReading& reading)>;

  // `sink` is called on the reader's own thread. Clock, which gives readings their time, and rules
  // outlive the reader.
  RedisReader(const Clock& clock, const EndpointRules& rules, const RedisLimits& limits, Sink sink,
              std::shared_ptr<LargeBodies> large_bodies = std::make_shared<LargeBodies>());
  ~RedisReader();  // at once, whatever is on its way
  RedisReader(const RedisReader&) = delete;
  RedisReader& operator=(const RedisReader&) = delete;

  // All that is wanted from now on; what is new is read at once.
  void Replace(std::vector<RedisTarget> targets);

 private:
  void Run();
  bool TakeSubscription();  // false: to end
  void Wait();
  void Wake() const;

  const Clock& clock_;
  const Sink sink_;
  const SteadyClock real_;  // of deadlines, whatever the clock of the samples does
  const int wake_fd_;
  RedisReadings readings_;  // the thread's
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<std::vector<RedisTarget>> wanted_ ABSL_GUARDED_BY(mutex_);  // empty: as before
  std::thread thread_;
};

}  // namespace gpuscaler
