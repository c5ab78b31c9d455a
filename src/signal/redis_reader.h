// Reads the lengths of queues in Redis, each once per interval.
//
// One thread serves all servers and blocks in poll() only. A thread per server would cost a stack
// each, to wait one millisecond per second.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "signal/redis_readings.h"

namespace gpuscaler {

// Thread-safe.
class RedisReader {
 public:
  using Sink = std::function<void(const RedisReading& reading)>;

  // `sink` is called on the reader's thread. `clock`, which dates the readings, and `rules` must
  // outlive the reader.
  RedisReader(const Clock& clock, const EndpointRules& rules, const RedisLimits& limits, Sink sink,
              std::shared_ptr<ResponseMemory> response_memory = std::make_shared<ResponseMemory>());
  ~RedisReader();  // cancels readings in progress and returns at once
  RedisReader(const RedisReader&) = delete;
  RedisReader& operator=(const RedisReader&) = delete;

  // Replaces the queues to read. New ones are read at once.
  void Replace(std::vector<RedisTarget> targets);

 private:
  void Run();
  bool TakeTargets();  // false: stop
  void Wait();
  void Wake() const;

  const Clock& clock_;
  const Sink sink_;
  const SteadyClock real_;  // deadlines do not depend on the clock of samples
  const int wake_fd_;
  RedisReadings readings_;  // used by the thread only
  Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<std::vector<RedisTarget>> replacement_ ABSL_GUARDED_BY(mutex_);  // from Replace()
  std::thread thread_;
};

}  // namespace gpuscaler
