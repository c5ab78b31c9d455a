#include "cost/gpu_time.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cost/gpu_slices.h"
#include "model/unreadable_gpu.h"

namespace gpuscaler {
namespace {

// A pod that is not Ready for longer does not count as starting, as in scaling/replica_load.h.
constexpr absl::Duration kLongestStart = absl::Minutes(30);

// The defaults of the triggers' warmupSeconds and preallocationWindow: an agent has no triggers.
constexpr absl::Duration kWarmup = absl::Minutes(5);
constexpr absl::Duration kPreallocationWindow = absl::Minutes(2);

// Without the Pods API a pod starts until its VRAM is above 50 % and does not change any more.
bool LoadsModel(const GpuSample& gpu, absl::Time at) {
  return gpu.in_use && at - gpu.held_since < kWarmup &&
         !gpu.steady_memory.WasSteadyFor(kPreallocationWindow, gpu.held_since);
}

std::vector<std::string> HolderNames(const NodeSnapshot& snapshot, const GpuSample& gpu) {
  std::vector<std::string> names;
  for (const GpuHolder& holder : gpu.holders) {
    if (holder.is_possible) continue;
    const Pod& pod = snapshot.pods[static_cast<size_t>(holder.pod)];
    names.push_back(absl::StrCat(pod.namespace_name, "/", pod.name));
  }
  std::ranges::sort(names);
  return names;
}

// The driver reports no utilization for some instances. They have that of their GPU.
std::optional<double> UtilizationOf(const NodeSnapshot& snapshot, const GpuSample& gpu) {
  if (gpu.utilization_percent || !IsMig(gpu)) return gpu.utilization_percent;
  const auto whole = std::ranges::find(snapshot.gpus, gpu.parent_uuid, &GpuSample::uuid);
  return whole == snapshot.gpus.end() ? std::nullopt : whole->utilization_percent;
}

// A GPU in MIG mode without instances is divided, but the driver hides how. Without a holder it is
// marked as not free only if it is divided (model/free_gpus.h). Requires a GPU without holders.
bool IsHiddenDivided(const GpuSample& gpu) {
  return !IsMig(gpu) && (gpu.is_in_mig_mode || gpu.is_free == false);
}

}  // namespace

std::string WorkloadName(const Pod& pod) {
  if (pod.owners.empty()) return pod.name;
  const bool is_chain = pod.owners_from == Pod::OwnersFrom::kReferences;
  return is_chain ? pod.owners.back().name : pod.owners.front().name;
}

bool IsStarting(const Pod& pod, const GpuSample& gpu, absl::Time at) {
  if (!pod.ready.has_value()) return LoadsModel(gpu, at);
  if (*pod.ready || pod.was_ready || pod.is_terminating.value_or(false)) return false;
  return at - pod.listed_since.value_or(gpu.held_since) <= kLongestStart;
}

void GpuTime::Track(const NodeSnapshot& snapshot, absl::Time at, absl::Time covered_since) {
  std::map<std::string, Activity> activities;
  for (const GpuSample& gpu : snapshot.gpus) {
    const auto before = activities_.find(gpu.uuid);
    Activity activity = before == activities_.end() ? Activity() : std::move(before->second);
    std::vector<std::string> holders = HolderNames(snapshot, gpu);
    const bool has_changed =
        !holders.empty() && !activity.holders.empty() && holders != activity.holders;
    if (has_changed || gpu.is_free.value_or(false)) activity = Activity();
    if (!holders.empty()) activity.holders = std::move(holders);
    const std::optional<double> utilization = UtilizationOf(snapshot, gpu);
    if (utilization && *utilization > 0) {
      activity.zero_since = absl::InfiniteFuture();
    } else if (utilization) {
      const bool goes_on = activity.zero_since != absl::InfiniteFuture() &&
                           at - activity.zero_until <= limits_.stale_after;
      if (!goes_on) activity.zero_since = covered_since;
      activity.zero_until = at;
    }
    activities.emplace(gpu.uuid, std::move(activity));
  }
  activities_ = std::move(activities);
}

// Requires a GPU that is held, or that is in use where holders are never known.
GpuState GpuTime::StateOf(const NodeSnapshot& snapshot, const GpuSample& gpu, absl::Time at) const {
  const std::optional<double> utilization = UtilizationOf(snapshot, gpu);
  if (!utilization) return GpuState::kUnknown;
  if (*utilization > 0) return GpuState::kBusy;
  const bool is_idle = at - activities_.at(gpu.uuid).zero_since >= limits_.idle_after;
  return is_idle ? GpuState::kIdle : GpuState::kBusy;
}

std::vector<GpuTime::Part> GpuTime::PartsOf(const NodeSnapshot& snapshot, const GpuSample& gpu,
                                            const UsageKey& unheld, absl::Time at) const {
  double shares = 0;
  std::vector<Part> parts;
  for (const GpuHolder& holder : gpu.holders) {
    if (holder.is_possible) continue;
    const Pod& pod = snapshot.pods[static_cast<size_t>(holder.pod)];
    UsageKey key = unheld;
    key.namespace_name = pod.namespace_name;
    key.workload = WorkloadName(pod);
    const GpuState state =
        IsStarting(pod, gpu, at) ? GpuState::kStarting : StateOf(snapshot, gpu, at);
    parts.push_back({.key = std::move(key), .state = state, .fraction = holder.share});
    shares += holder.share;
  }
  for (Part& part : parts) {
    part.fraction = shares > 0 ? part.fraction / shares : 1.0 / static_cast<double>(parts.size());
  }
  if (!parts.empty()) return parts;
  GpuState state = GpuState::kFree;
  if (IsUnreadable(gpu) || !gpu.holders.empty() ||
      snapshot.attribution.state == Attribution::State::kUnknown || IsHiddenDivided(gpu)) {
    state = GpuState::kUnknown;
  } else if (snapshot.attribution.state == Attribution::State::kNone && gpu.in_use) {
    state = StateOf(snapshot, gpu, at);
  }
  return {{.key = unheld, .state = state, .fraction = 1}};
}

void GpuTime::BookUnknown(int64_t micros, Book book) const {
  if (micros <= 0) return;
  for (const UsageKey& key : whole_) book(key, GpuState::kUnknown, micros);
}

void GpuTime::Add(const NodeSnapshot& snapshot, absl::Time at, Book book) {
  const int64_t now = absl::ToUnixMicros(at);
  const int64_t elapsed = has_reading_ ? now - booked_until_micros_ : 0;
  if (elapsed < 0) return;
  const int64_t covered = std::min(elapsed, absl::ToInt64Microseconds(limits_.stale_after));
  Track(snapshot, at, absl::FromUnixMicros(now - covered));
  whole_.clear();
  for (const WholeGpu& whole : WholeGpusOn(snapshot)) {
    UsageKey& unheld = whole_.emplace_back();
    unheld.gpu_model = whole.model;
    unheld.node = snapshot.node;
    // Parts end at rounded sums of fractions, so that rounding errors do not add up.
    double fractions = 0;
    int64_t booked = 0;
    const auto book_part = [&](const UsageKey& key, GpuState state, double fraction) {
      fractions += fraction;
      const auto end =
          std::min<int64_t>(covered, std::llround(static_cast<double>(covered) * fractions));
      if (end > booked) book(key, state, end - booked);
      booked = std::max(booked, end);
    };
    for (const GpuSlice& slice : whole.slices) {
      if (slice.gpu == nullptr) {
        book_part(unheld, GpuState::kFree, slice.fraction);
        continue;
      }
      for (const Part& part : PartsOf(snapshot, *slice.gpu, unheld, at)) {
        book_part(part.key, part.state, part.fraction * slice.fraction);
      }
    }
    // Fractions may add up to slightly less than 1.
    if (covered > booked) book(unheld, GpuState::kUnknown, covered - booked);
  }
  BookUnknown(elapsed - covered, book);
  booked_until_micros_ = now;
  has_reading_ = true;
}

void GpuTime::BookMissing(absl::Time now, Book book) {
  if (!has_reading_) return;
  const int64_t until = absl::ToUnixMicros(now - limits_.stale_after);
  if (until <= booked_until_micros_) return;
  BookUnknown(until - booked_until_micros_, book);
  booked_until_micros_ = until;
}

}  // namespace gpuscaler
