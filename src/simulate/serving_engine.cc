#include "simulate/serving_engine.h"

#include <pthread.h>

#include <utility>

#include "base/status_macros.h"

namespace gpuscaler {

ServingEngine::ServingEngine(const BatchEngineOptions& options, const Clock& clock)
    : clock_(clock), engine_(options), thread_([this] { Run(); }) {
  pthread_setname_np(thread_.native_handle(), "engine");
}

ServingEngine::~ServingEngine() { Stop(); }

void ServingEngine::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  clients_.Wake();
  if (thread_.joinable()) thread_.join();
}

void ServingEngine::Hold(int64_t key, int client, OnEnd on_end) {
  clients_.Add(client, key);
  held_.emplace(key, Held{.client = client, .on_end = std::move(on_end)});
}

absl::StatusOr<int64_t> ServingEngine::Submit(const EngineRequest& request, int client,
                                              OnEnd on_end) {
  MutexLock lock(mutex_);
  if (stopping_) return absl::UnavailableError("the engine stops");
  const absl::Time waking = engine_.StepEnds();
  ASSIGN_OR_RETURN(const int64_t id, engine_.Submit(request, clock_.Now()));
  Hold(id, client, std::move(on_end));
  if (engine_.StepEnds() != waking) clients_.Wake();
  return id;
}

void ServingEngine::Hang(int client, OnEnd on_end) {
  {
    MutexLock lock(mutex_);
    hanging_ = true;
    if (!stopping_) return Hold(next_hung_key_--, client, std::move(on_end));
  }
  on_end(false);
}

EngineGauges ServingEngine::Gauges() const {
  MutexLock lock(mutex_);
  return engine_.Gauges();
}

EngineTotals ServingEngine::Totals() const {
  MutexLock lock(mutex_);
  return engine_.totals();
}

void ServingEngine::Release(int64_t key, bool served, std::vector<Ended>& ended) {
  const auto found = held_.find(key);
  if (found == held_.end()) return;
  clients_.Remove(found->second.client);
  if (!served) engine_.Abort(key);
  ended.push_back({.on_end = std::move(found->second.on_end), .served = served});
  held_.erase(found);
}

void ServingEngine::Run() {
  absl::Time due = absl::InfiniteFuture();
  for (bool stopping = false; !stopping;) {
    const std::vector<int64_t> gone = clients_.Wait(due - clock_.Now());
    std::vector<Ended> ended;
    {
      MutexLock lock(mutex_);
      if (!hanging_) {
        for (const EngineEvent& event : engine_.Advance(clock_.Now())) {
          if (event.kind == EngineEvent::Kind::kServed) Release(event.id, true, ended);
        }
      }
      for (const int64_t key : gone) Release(key, false, ended);
      stopping = stopping_;
      while (stopping && !held_.empty()) Release(held_.begin()->first, false, ended);
      due = hanging_ ? absl::InfiniteFuture() : engine_.StepEnds();
    }
    for (const Ended& end : ended) end.on_end(end.served);
  }
}

}  // namespace gpuscaler
