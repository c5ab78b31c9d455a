// Runs the batch in real time: one thread makes its steps, and removes requests that are served or
// that lost their client.
#pragma once

#include <functional>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "simulate/batch_engine.h"
#include "simulate/client_watch.h"

namespace gpuscaler {

// Thread-safe.
class ServingEngine {
 public:
  // Called once, on the engine's thread. `served` is false if the client has gone or the engine
  // stopped. Must not call the engine.
  using OnEnd = std::function<void(bool served)>;

  ServingEngine(const BatchEngineOptions& options, const Clock& clock);  // clock must outlive it
  ~ServingEngine();
  ServingEngine(const ServingEngine&) = delete;
  ServingEngine& operator=(const ServingEngine&) = delete;

  // Like BatchEngine::Submit(). `on_end` may be called before this returns, and is not called if it
  // fails. `client` must stay open until `on_end` is called.
  absl::StatusOr<int64_t> Submit(const EngineRequest& request, int client, OnEnd on_end);

  // Holds a request unserved until its client goes or the engine stops. No further step is made.
  void Hang(int client, OnEnd on_end);

  EngineGauges Gauges() const;
  EngineTotals Totals() const;

  // Ends pending requests unserved. Later requests are rejected.
  void Stop();

 private:
  struct Held {
    int client;
    OnEnd on_end;
  };
  struct Ended {
    OnEnd on_end;
    bool served;
  };

  void Run();
  void Hold(int64_t key, int client, OnEnd on_end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Release(int64_t key, bool served, std::vector<Ended>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  ClientWatch clients_;
  mutable Mutex mutex_;
  BatchEngine engine_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, Held> held_ ABSL_GUARDED_BY(mutex_);  // key: id; negative: hung
  int64_t next_hung_key_ ABSL_GUARDED_BY(mutex_) = -1;
  bool hanging_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace gpuscaler
