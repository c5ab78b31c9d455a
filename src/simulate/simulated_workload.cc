#include "simulate/simulated_workload.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "simulate/arrivals.h"

namespace gpuscaler {
namespace {

// Shares of the replicas, in the rolling update of a Deployment.
constexpr double kMaxSurge = 0.25, kMaxUnavailable = 0.25;

}  // namespace

SimulatedWorkload::SimulatedWorkload(const WorkloadOptions& options, absl::Time start)
    : options_(options), now_(start), random_(options.seed) {}

int SimulatedWorkload::FreeGpu() const {
  int gpu = 0;
  while (std::ranges::find(pods_, gpu, &SimulatedReplica::gpu) != pods_.end()) ++gpu;
  return gpu;
}

SimulatedReplica& SimulatedWorkload::Start() {
  const absl::Duration range = options_.longest_start - options_.shortest_start;
  return StartReadyAt(now_ + options_.shortest_start + UniformRandom(random_) * range);
}

SimulatedReplica& SimulatedWorkload::StartReadyAt(absl::Time ready_at) {
  const int gpu = FreeGpu();
  SimulatedReplica& pod = pods_.emplace_back();
  pod.number = next_number_++;
  pod.gpu = gpu;
  pod.revision = revision_;
  pod.created_at = now_;
  pod.ready_at = ready_at;
  pod.engine = std::make_shared<BatchEngine>(options_.engine);
  return pod;
}

void SimulatedWorkload::Terminate(int number) {
  const auto pod = std::ranges::find(pods_, number, &SimulatedReplica::number);
  if (pod == pods_.end() || pod->IsTerminating()) return;
  pod->terminating_since = now_;
  RemoveDrained();
}

void SimulatedWorkload::Lose(int number) {
  const auto pod = std::ranges::find(pods_, number, &SimulatedReplica::number);
  if (pod == pods_.end()) return;
  RequeueUnfinished(*pod);
  pods_.erase(pod);
}

int SimulatedWorkload::CountOf(bool current_revision) const {
  return static_cast<int>(std::ranges::count_if(pods_, [&](const SimulatedReplica& pod) {
    return !pod.IsTerminating() && (pod.revision == revision_) == current_revision;
  }));
}

SimulatedReplica& SimulatedWorkload::NextToTerminate(bool current_revision) {
  return *std::ranges::max_element(pods_, {}, [&](const SimulatedReplica& pod) {
    const bool is_candidate =
        !pod.IsTerminating() && (pod.revision == revision_) == current_revision;
    return std::tuple(is_candidate, !pod.IsLoaded(now_), pod.ready_at);
  });
}

void SimulatedWorkload::Scale(int replicas) {
  const int surge = static_cast<int>(std::ceil(kMaxSurge * replicas));
  const int most = replicas + (CountOf(/*current_revision=*/false) > 0 ? surge : 0);
  while (CountOf(true) < replicas && this->replicas() < most) Start();
  while (CountOf(true) > replicas) Terminate(NextToTerminate(true).number);
  TerminateOldPods(replicas);
}

void SimulatedWorkload::TerminateOldPods(int replicas) {
  const int fewest = replicas - static_cast<int>(kMaxUnavailable * replicas);
  while (CountOf(/*current_revision=*/false) > 0) {
    const SimulatedReplica& next = NextToTerminate(false);
    if (next.IsReady(now_) && ready() - 1 < fewest) return;
    Terminate(next.number);
  }
}

void SimulatedWorkload::Advance(absl::Time now) {
  for (SimulatedReplica& pod : pods_) {
    if (pod.engine->StepEnds() > now) continue;
    for (const EngineEvent& event : pod.engine->Advance(now)) {
      LoopRequest& request = pod.requests[static_cast<size_t>(event.id) - 1];
      request.first_token = event.first_token;
      if (event.kind == EngineEvent::Kind::kFirstToken) {
        started_.push_back(request);
      } else {
        request.last_token = event.at;
        served_.push_back(request);
      }
    }
  }
  now_ = now;
  RemoveDrained();
  while (!held_.empty()) {
    SimulatedReplica* const replica = Route();
    if (replica == nullptr) return;
    Send(held_.front(), *replica);
    held_.pop_front();
  }
}

void SimulatedWorkload::RemoveDrained() {
  std::erase_if(pods_, [this](const SimulatedReplica& pod) {
    if (!pod.IsTerminating()) return false;
    if (pod.engine->held() == 0) return true;
    if (now_ < pod.terminating_since + options_.grace) return false;
    RequeueUnfinished(pod);
    return true;
  });
}

void SimulatedWorkload::RequeueUnfinished(const SimulatedReplica& pod) {
  for (LoopRequest request : pod.requests) {
    if (request.last_token != absl::InfiniteFuture()) continue;
    request.first_token = absl::InfiniteFuture();
    held_.push_back(request);
  }
}

SimulatedReplica* SimulatedWorkload::Route() {
  std::vector<SimulatedReplica*> ready;
  for (SimulatedReplica& pod : pods_) {
    if (pod.IsReady(now_)) ready.push_back(&pod);
  }
  if (ready.empty()) return nullptr;
  switch (options_.routing) {
    case Routing::kRoundRobin:
      return ready[next_turn_++ % ready.size()];
    case Routing::kRandom:
      return ready[random_() % ready.size()];
    case Routing::kLeastLoaded:
      break;
  }
  return *std::ranges::min_element(
      ready, {}, [](const SimulatedReplica* replica) { return replica->engine->held(); });
}

void SimulatedWorkload::Send(const LoopRequest& request, SimulatedReplica& replica) {
  // An engine refuses a request that never fits its cache. The client then gives up.
  if (replica.engine->Submit(request.request, now_).ok()) replica.requests.push_back(request);
}

void SimulatedWorkload::Submit(const EngineRequest& request) {
  const LoopRequest arrived{.request = request, .arrived = now_};
  SimulatedReplica* const replica = held_.empty() ? Route() : nullptr;
  if (replica == nullptr) {
    held_.push_back(arrived);
  } else {
    Send(arrived, *replica);
  }
}

int SimulatedWorkload::replicas() const {
  return static_cast<int>(std::ranges::count_if(
      pods_, [](const SimulatedReplica& pod) { return !pod.IsTerminating(); }));
}

int SimulatedWorkload::ready() const {
  return static_cast<int>(std::ranges::count_if(
      pods_, [this](const SimulatedReplica& pod) { return pod.IsReady(now_); }));
}

int64_t SimulatedWorkload::running() const {
  int64_t running = 0;
  for (const SimulatedReplica& pod : pods_) running += pod.engine->Gauges().running;
  return running;
}

int64_t SimulatedWorkload::waiting() const {
  int64_t waiting = held();
  for (const SimulatedReplica& pod : pods_) waiting += pod.engine->Gauges().waiting;
  return waiting;
}

void SimulatedWorkload::ClearEvents() {
  started_.clear();
  served_.clear();
}

std::vector<LoopRequest> SimulatedWorkload::Unserved() const {
  std::vector<LoopRequest> unserved(held_.begin(), held_.end());
  for (const SimulatedReplica& pod : pods_) {
    for (const LoopRequest& request : pod.requests) {
      if (request.last_token == absl::InfiniteFuture()) unserved.push_back(request);
    }
  }
  return unserved;
}

}  // namespace gpuscaler
