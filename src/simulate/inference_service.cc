#include "simulate/inference_service.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kStep = absl::Seconds(1);
constexpr int64_t kFreeMemoryBytes = 3 << 20;  // what a driver shows of an idle GPU

// Weights fill the memory for the first part of a start, graph capture works for the rest.
constexpr double kLoadingShare = 0.7;
constexpr double kLoadingUtilizationPercent = 15;
constexpr double kCaptureUtilizationPercent = 95;

}  // namespace

InferenceService::InferenceService(const InferenceServiceOptions& options, absl::Time start)
    : options_(options), now_(start) {}

bool InferenceService::Ready(const Replica& replica) const {
  return now_ - replica.started_at >= options_.start_time;
}

bool InferenceService::Free(int gpu) const {
  return std::ranges::find(replicas_, gpu, &Replica::gpu) == replicas_.end();
}

int InferenceService::ready() const {
  return static_cast<int>(
      std::ranges::count_if(replicas_, [this](const Replica& replica) { return Ready(replica); }));
}

int InferenceService::running() const {
  return std::accumulate(replicas_.begin(), replicas_.end(), 0,
                         [](int sum, const Replica& replica) {
                           return sum + static_cast<int>(replica.running.size());
                         });
}

void InferenceService::Scale(int replicas) {
  while (this->replicas() > replicas) {
    for (const Running& request : replicas_.back().running) {
      waiting_.push_front({.since = now_, .before = request.waited, .begun = true});
    }
    replicas_.pop_back();
  }
  for (int gpu = 0; gpu < options_.gpus && this->replicas() < replicas; ++gpu) {
    if (Free(gpu)) replicas_.push_back({.gpu = gpu, .pid = next_pid_++, .started_at = now_});
  }
  totals_.most_replicas = std::max(totals_.most_replicas, this->replicas());
}

void InferenceService::Advance(absl::Time now, double requests_per_second) {
  while (now_ + kStep <= now) {
    now_ += kStep;
    arriving_ += requests_per_second * absl::ToDoubleSeconds(kStep);
    for (; arriving_ >= 1; --arriving_) {
      waiting_.push_back({.since = now_, .before = {}});
      ++totals_.arrived;
    }
    Step();
  }
}

void InferenceService::Step() {
  totals_.gpu_seconds += replicas() * absl::ToDoubleSeconds(kStep);
  Serve();
  Admit();
}

void InferenceService::Serve() {
  for (Replica& replica : replicas_) {
    for (Running& request : replica.running) request.left -= kStep;
    totals_.served +=
        static_cast<int64_t>(std::erase_if(replica.running, [](const Running& request) {
          return request.left <= absl::ZeroDuration();
        }));
  }
}

// The longest-waiting request to the replica with the fewest.
void InferenceService::Admit() {
  const auto load = [this](const Replica& replica) {
    return Ready(replica) ? replica.running.size() : static_cast<size_t>(options_.batch_limit);
  };
  while (!waiting_.empty() && !replicas_.empty()) {
    Replica& least = *std::ranges::min_element(replicas_, {}, load);
    if (load(least) >= static_cast<size_t>(options_.batch_limit)) return;
    const Waiting& next = waiting_.front();
    const absl::Duration waited = next.before + (now_ - next.since);
    totals_.waited += now_ - next.since;
    totals_.longest_wait = std::max(totals_.longest_wait, waited);
    if (!next.begun) ++totals_.begun;
    least.running.push_back({waited, options_.request_time});
    waiting_.pop_front();
  }
}

NodeSnapshot InferenceService::Snapshot() const {
  NodeSnapshot snapshot{.taken_at = now_, .node = "simulated", .source = "simulated"};
  for (int index = 0; index < options_.gpus; ++index) {
    GpuSample gpu;
    gpu.index = index;
    gpu.uuid = absl::StrFormat("GPU-00000000-0000-0000-0000-%012d", index);
    gpu.name = "Simulated 80 GB";
    gpu.memory_total_bytes = options_.memory_bytes;
    gpu.memory_used_bytes = kFreeMemoryBytes;
    gpu.utilization_percent = 0;
    gpu.processes.emplace();
    const auto holder = std::ranges::find(replicas_, index, &Replica::gpu);
    if (holder != replicas_.end()) Show(*holder, gpu);
    snapshot.gpus.push_back(std::move(gpu));
  }
  return snapshot;
}

void InferenceService::Show(const Replica& replica, GpuSample& gpu) const {
  const double started = absl::FDivDuration(now_ - replica.started_at, options_.start_time);
  const double loaded = std::min(1.0, started / kLoadingShare);
  if (started >= 1) {
    gpu.utilization_percent = std::min(100.0, options_.utilization_per_request_percent *
                                                  static_cast<double>(replica.running.size()));
  } else {
    gpu.utilization_percent = loaded < 1 ? kLoadingUtilizationPercent : kCaptureUtilizationPercent;
  }
  const double used = options_.preallocated_percent / 100 * loaded;
  gpu.memory_used_bytes = std::max(
      kFreeMemoryBytes, static_cast<int64_t>(used * static_cast<double>(options_.memory_bytes)));
  gpu.processes = {{.pid = replica.pid, .memory_bytes = gpu.memory_used_bytes}};
  gpu.in_use = true;
  gpu.held_since = replica.started_at;
}

}  // namespace gpuscaler
