// A workload of simulated engines behind a router: requests arrive, replicas come and go.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "batching/batch_engine.h"

namespace gpuscaler {

enum class Routing { kLeastLoaded, kRoundRobin, kRandom };

struct WorkloadOptions {
  BatchEngineOptions engine;
  Routing routing = Routing::kLeastLoaded;
  // From a pod's creation until it is ready: uniform between these.
  absl::Duration shortest_start = absl::Seconds(60);
  absl::Duration longest_start = absl::Seconds(180);
  // A terminating replica gets no new requests and ends when it has finished those it has. After
  // this time the router sends the unfinished ones to other replicas, from their beginning.
  absl::Duration grace = absl::Minutes(5);
  // A Deployment's rolling update, as shares of its replicas.
  double max_surge = 0.25;
  double max_unavailable = 0.25;
  uint64_t seed = 1;
};

// A request from its arrival at the router to its last token.
struct LoopRequest {
  EngineRequest request;
  absl::Time arrived;
  absl::Time first_token = absl::InfiniteFuture();
  absl::Time last_token = absl::InfiniteFuture();
};

// One pod, with one GPU.
struct SimulatedReplica {
  int number = 0;    // counts up; the pod is llm-<number>
  int gpu = 0;       // the lowest index that was free
  int revision = 0;  // pod template's
  absl::Time created_at;
  absl::Time ready_at;
  absl::Time terminating_since = absl::InfiniteFuture();
  std::shared_ptr<BatchEngine> engine;
  std::vector<LoopRequest> requests;  // index: the engine's id - 1

  bool IsTerminating() const { return terminating_since != absl::InfiniteFuture(); }
  bool IsLoaded(absl::Time now) const { return ready_at <= now; }
  bool IsReady(absl::Time now) const { return IsLoaded(now) && !IsTerminating(); }
};

// The caller's time must never go back. Not thread-safe.
class SimulatedWorkload {
 public:
  SimulatedWorkload(const WorkloadOptions& options, absl::Time start);

  // Adds a pod. `ready_at` is drawn from the range of starts unless given.
  SimulatedReplica& Start();
  SimulatedReplica& StartReadyAt(absl::Time ready_at);
  // Deletes a pod: it drains.
  void Terminate(int number);
  // The pod is gone at once: its unfinished requests go to other replicas, from their beginning.
  void Lose(int number);

  // One round of the Deployment controller. Starts pods, or terminates those that a
  // ReplicaSet would: not ready ones first, then the most recently ready. After Restart() it starts
  // new pods and terminates old ones as max_surge and max_unavailable allow.
  void Scale(int replicas);

  // kubectl rollout restart: the pods that are there now are to be replaced.
  void Restart() { ++revision_; }

  // Runs every engine until `now`.
  void Advance(absl::Time now);

  // Arrives now. Waits at the router while no replica is ready.
  void Submit(const EngineRequest& request);

  absl::Time now() const { return now_; }
  const std::vector<SimulatedReplica>& pods() const { return pods_; }  // oldest first
  int replicas() const;     // pods that are not terminating
  int ready() const;        // ready pods among them
  int64_t running() const;  // requests in all batches
  int64_t waiting() const;  // in all engines' queues and at the router
  int64_t held() const { return static_cast<int64_t>(held_.size()); }  // at the router

  // Requests that got their first token, or their last one, since the last ForgetEvents().
  const std::vector<LoopRequest>& started() const { return started_; }
  const std::vector<LoopRequest>& served() const { return served_; }
  void ForgetEvents();
  std::vector<LoopRequest> Unserved() const;

 private:
  SimulatedReplica* Route();
  void Send(const LoopRequest& request, SimulatedReplica& replica);
  void EndDrained();
  void HoldUnfinished(const SimulatedReplica& pod);
  int CountOf(bool current_revision) const;  // pods that are not terminating
  SimulatedReplica& NextToEnd(bool current_revision);
  void EndOldPods(int replicas);
  int FreeGpu() const;

  const WorkloadOptions options_;
  absl::Time now_;
  std::mt19937_64 random_;
  int next_number_ = 1;
  int revision_ = 0;
  size_t turn_ = 0;  // round robin's next pod
  std::vector<SimulatedReplica> pods_;
  std::deque<LoopRequest> held_;
  std::vector<LoopRequest> started_;
  std::vector<LoopRequest> served_;
};

}  // namespace gpuscaler
