// The batch in real time: one thread makes its steps, and lets go of what is served or whose
// client has gone.
#pragma once

#include <functional>
#include <map>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"
#include "batching/batch_engine.h"
#include "simulated_engine/client_watch.h"

namespace gpuscaler {

// Thread-safe.
class ServingEngine {
 public:
  // Called once, on the engine's thread: was it served, or has its client gone, or the engine
  // stopped? Does not call back.
  using OnEnd = std::function<void(bool served)>;

  ServingEngine(const BatchEngineOptions& options, const Clock& clock);  // clock outlives it
  ~ServingEngine();
  ServingEngine(const ServingEngine&) = delete;
  ServingEngine& operator=(const ServingEngine&) = delete;

  // As BatchEngine's; `on_end` may be called before it returns, and is not where it fails.
  // `client` stays open until then.
  absl::StatusOr<int64_t> Submit(const EngineRequest& request, int client, OnEnd on_end);

  // Unserved until the client goes or the engine stops. From now on no step is made either.
  void Hang(int client, OnEnd on_end);

  EngineGauges Gauges() const;
  EngineTotals Totals() const;

  // Ends what it holds, unserved. Nothing is taken afterwards: it ends at once.
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
  void LetGo(int64_t key, bool served, std::vector<Ended>& ended)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Clock& clock_;
  ClientWatch clients_;
  mutable Mutex mutex_;
  BatchEngine engine_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, Held> held_ ABSL_GUARDED_BY(mutex_);  // by id; below 0: hung
  int64_t next_hung_ ABSL_GUARDED_BY(mutex_) = -1;
  bool hanging_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace gpuscaler
