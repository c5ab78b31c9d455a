// A simulated vLLM service on one node: requests arrive, replicas of one GPU each serve them.
#pragma once

#include <deque>
#include <vector>

#include "absl/time/time.h"
#include "model/node_snapshot.h"

namespace gpuscaler {

struct InferenceServiceOptions {
  int gpus = 8;  // of the node; a replica beyond them is pending
  int64_t memory_bytes = 80LL << 30;
  // vLLM's --gpu-memory-utilization: taken at start and kept, busy or idle.
  double preallocated_percent = 90;
  absl::Duration start_time = absl::Seconds(60);  // loading, then graph capture: looks like work
  int batch_limit = 4;                            // requests that a replica's KV cache fits
  absl::Duration request_time = absl::Seconds(20);
  // Of the GPU, for each running request up to 100: such engines are *busy* long before they are
  // full.
  double utilization_per_request_percent = 50;
};

// Steps of a second. What a replica that ends was serving goes back to the queue. Not thread-safe.
class InferenceService {
 public:
  InferenceService(const InferenceServiceOptions& options, absl::Time start);

  // New replicas start on the free GPUs of lowest index; the newest ones end first.
  void Scale(int replicas);

  // Runs until `now`, with this many requests arriving each second.
  void Advance(absl::Time now, double requests_per_second);

  int replicas() const { return static_cast<int>(replicas_.size()); }
  int ready() const;
  int running() const;
  int waiting() const { return static_cast<int>(waiting_.size()); }
  absl::Time now() const { return now_; }

  // The GPUs as a driver would see them now, with their holders.
  NodeSnapshot Snapshot() const;

  struct Totals {
    double gpu_seconds = 0;  // of all replicas, the starting ones too
    int64_t arrived = 0;
    int64_t begun = 0;  // left the queue, each request once
    int64_t served = 0;
    absl::Duration waited;        // in the queue, by those that have left it
    absl::Duration longest_wait;  // of one request, all its waits together
    int most_replicas = 0;
  };
  const Totals& totals() const { return totals_; }

 private:
  // A request waits again when the replica that it ran on ends.
  struct Waiting {
    absl::Time since;
    absl::Duration before;  // waited already
    bool begun = false;     // has run before
  };
  struct Running {
    absl::Duration waited;
    absl::Duration left;
  };
  struct Replica {
    int gpu;
    int64_t pid;
    absl::Time started_at;
    std::vector<Running> running;
  };
  bool Ready(const Replica& replica) const;
  bool Free(int gpu) const;
  void Step();
  void Admit();
  void Serve();
  void Show(const Replica& replica, GpuSample& gpu) const;

  const InferenceServiceOptions options_;
  absl::Time now_;
  double arriving_ = 0;  // the part of a request that is still to come
  int64_t next_pid_ = 4100;
  std::deque<Waiting> waiting_;
  std::vector<Replica> replicas_;  // oldest first
  Totals totals_;
};

}  // namespace gpuscaler
