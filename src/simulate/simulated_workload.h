// A workload of simulated engines behind a router: requests arrive, replicas start and end.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "simulate/batch_engine.h"

namespace gpuscaler {

enum class Routing { kLeastLoaded, kRoundRobin, kRandom };

struct WorkloadOptions {
  BatchEngineOptions engine;
  Routing routing = Routing::kLeastLoaded;
  // Time from a pod's creation until it is ready: uniform between these.
  absl::Duration shortest_start = absl::Seconds(60);
  absl::Duration longest_start = absl::Seconds(180);
  // A terminating replica gets no new requests and ends when it has finished its own. After this
  // time the router restarts the unfinished ones on other replicas.
  absl::Duration grace = absl::Minutes(5);
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
  int number = 0;    // increasing; the pod is llm-<number>
  int gpu = 0;       // the lowest free index
  int revision = 0;  // the pod template's
  absl::Time created_at;
  absl::Time ready_at;
  absl::Time terminating_since = absl::InfiniteFuture();
  std::shared_ptr<BatchEngine> engine;
  std::vector<LoopRequest> requests;  // index: the engine's id - 1

  bool IsTerminating() const { return terminating_since != absl::InfiniteFuture(); }
  bool IsLoaded(absl::Time now) const { return ready_at <= now; }
  bool IsReady(absl::Time now) const { return IsLoaded(now) && !IsTerminating(); }
};

// `now` must never decrease between calls. Not thread-safe.
class SimulatedWorkload {
 public:
  SimulatedWorkload(const WorkloadOptions& options, absl::Time start);

  // Adds a pod. Without `ready_at` its start is drawn from the range of starts.
  SimulatedReplica& Start();
  SimulatedReplica& StartReadyAt(absl::Time ready_at);
  // Deletes a pod, which drains.
  void Terminate(int number);
  // Removes a pod at once. Its unfinished requests are restarted on other replicas.
  void Lose(int number);

  // Runs one sync of the Deployment controller. Starts pods, or terminates pods in a ReplicaSet's
  // order: not ready ones first, then the most recently ready. After Restart() it starts new pods
  // and terminates old ones within Kubernetes' default maxSurge and maxUnavailable.
  void Scale(int replicas);

  // Like kubectl rollout restart: the present pods will be replaced.
  void Restart() { ++revision_; }

  // Runs every engine until `now`.
  void Advance(absl::Time now);

  // Submits a request that arrives now. It waits at the router while no replica is ready.
  void Submit(const EngineRequest& request);

  absl::Time now() const { return now_; }
  const std::vector<SimulatedReplica>& pods() const { return pods_; }  // oldest first
  int replicas() const;     // pods that are not terminating
  int ready() const;        // ready ones of these
  int64_t running() const;  // requests in all batches
  int64_t waiting() const;  // in the queues of all engines and at the router
  int64_t held() const { return static_cast<int64_t>(held_.size()); }  // at the router

  // The requests with a first or a last token since the last ClearEvents().
  const std::vector<LoopRequest>& started() const { return started_; }
  const std::vector<LoopRequest>& served() const { return served_; }
  void ClearEvents();
  std::vector<LoopRequest> Unserved() const;

 private:
  SimulatedReplica* Route();
  void Send(const LoopRequest& request, SimulatedReplica& replica);
  void RemoveDrained();
  void RequeueUnfinished(const SimulatedReplica& pod);
  int CountOf(bool current_revision) const;  // pods that are not terminating
  SimulatedReplica& NextToTerminate(bool current_revision);
  void TerminateOldPods(int replicas);
  int FreeGpu() const;

  const WorkloadOptions options_;
  absl::Time now_;
  std::mt19937_64 random_;
  int next_number_ = 1;
  int revision_ = 0;
  size_t next_turn_ = 0;  // next pod of round robin
  std::vector<SimulatedReplica> pods_;
  std::deque<LoopRequest> held_;
  std::vector<LoopRequest> started_;
  std::vector<LoopRequest> served_;
};

}  // namespace gpuscaler
