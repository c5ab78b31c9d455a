#include "fleet/engine_bounds.h"

#include <algorithm>

#include "base/status_macros.h"
#include "fleet/telemetry_bounds.h"
#include "fleet/wire_text.h"
#include "model/pod.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// A kubelet runs 110 pods unless it is told otherwise, and few have more than one engine.
constexpr int kMostEnginesOfNode = 4096;
constexpr int kMostLeft = 1024;  // four times what an agent keeps (engine/capacity_records.h)
constexpr int kMostPort = 65535;
constexpr int kMostSumsOfEngine = 64;  // later versions may send more

// As of a page (engine/engine_exposition.h).
constexpr int kMostModelsOfEngine = 1000;
constexpr int kMostBucketsOfHistogram = 500;

// What a message costs besides its bytes, were it made of the least that can be said: a reading is
// looked up for each source that wants it, a list is laid beside those of all nodes.
constexpr size_t kReadingCost = 128;
constexpr size_t kListCost = 64 << 10;

absl::Status BoundPodName(const std::string& namespace_name, const std::string& pod) {
  RETURN_IF_ERROR(Named("a namespace's name", namespace_name, kLongestLabel));
  RETURN_IF_ERROR(Named("a pod's name", pod, kLongestObjectName));
  if (!namespace_name.empty() && !pod.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("a pod without a name, or without a namespace");
}

absl::Status BoundLearnt(wire::LearntEngine& learnt) {
  MakeText(*learnt.mutable_models());
  MakeText(*learnt.mutable_gpu_model());
  return Counted("sums of an engine", learnt.service_size(), kMostSumsOfEngine);
}

absl::Status BoundList(wire::EngineList& list) {
  RETURN_IF_ERROR(Counted("namespaces of a node", list.namespaces_size(), kMostEnginesOfNode));
  RETURN_IF_ERROR(Counted("engines of a node", list.engines_size(), kMostEnginesOfNode));
  RETURN_IF_ERROR(Counted("pods of a node", list.without_size(), kMostEnginesOfNode));
  RETURN_IF_ERROR(Counted("engines that left a node", list.left_size(), kMostLeft));
  MakeText(*list.mutable_why());
  for (const std::string& name : list.namespaces()) {
    RETURN_IF_ERROR(Named("a namespace's name", name, kLongestLabel));
  }
  for (const wire::FoundEngine& engine : list.engines()) {
    RETURN_IF_ERROR(BoundPodName(engine.namespace_name(), engine.pod()));
    RETURN_IF_ERROR(Named("an address", engine.address(), kLongestAddress));
    RETURN_IF_ERROR(Counted("as a port", engine.port(), kMostPort));
  }
  for (wire::PodWithoutEngine& pod : *list.mutable_without()) {
    RETURN_IF_ERROR(BoundPodName(pod.namespace_name(), pod.pod()));
    MakeText(*pod.mutable_why());
  }
  for (wire::LeftEngine& engine : *list.mutable_left()) {
    RETURN_IF_ERROR(BoundPod(*engine.mutable_pod()));
    RETURN_IF_ERROR(Named("an address", engine.address(), kLongestAddress));
    RETURN_IF_ERROR(Counted("as a port", engine.port(), kMostPort));
    RETURN_IF_ERROR(Named("an engine's name", engine.engine(), kLongestLabel));
    RETURN_IF_ERROR(BoundLearnt(*engine.mutable_learnt()));
  }
  return absl::OkStatus();
}

absl::Status BoundHistogram(const wire::HistogramCounts& counts) {
  RETURN_IF_ERROR(Counted("buckets", counts.not_above_size(), kMostBucketsOfHistogram));
  return Counted("buckets", counts.count_size(), kMostBucketsOfHistogram);
}

absl::Status BoundEngineReading(wire::EngineReading& reading) {
  RETURN_IF_ERROR(Named("an engine's name", reading.engine(), kLongestLabel));
  RETURN_IF_ERROR(Counted("models of an engine", reading.models_size(), kMostModelsOfEngine));
  MakeText(*reading.mutable_failed());
  if (reading.has_learnt()) RETURN_IF_ERROR(BoundLearnt(*reading.mutable_learnt()));
  for (wire::EngineModel& model : *reading.mutable_models()) {
    MakeText(*model.mutable_name());
    RETURN_IF_ERROR(BoundHistogram(model.first_token_seconds()));
    RETURN_IF_ERROR(BoundHistogram(model.output_token_seconds()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status BoundEngines(wire::EngineTelemetry& message) {
  if (message.has_list()) RETURN_IF_ERROR(BoundList(*message.mutable_list()));
  for (wire::EngineReading& reading : *message.mutable_readings()) {
    RETURN_IF_ERROR(BoundEngineReading(reading));
  }
  return absl::OkStatus();
}

size_t CostOf(const wire::EngineTelemetry& message) {
  const auto readings = static_cast<size_t>(message.readings_size());
  return message.ByteSizeLong() + kReadingCost * (1 + readings) +
         (message.has_list() ? kListCost : 0);
}

// 110 engines, read each second, cost 30 KiB; with two histograms each 120 KiB. Of all its past an
// agent keeps 16 MiB (EngineLog), which may be as many readings again in cost.
bool EngineQuota::Take(size_t cost, absl::Time now) {
  constexpr double kASecond = 512 << 10;
  constexpr double kAtOnce = 128 * kASecond;
  left_ = std::min(left_ + kASecond * absl::ToDoubleSeconds(now - at_), kAtOnce);
  at_ = now;
  left_ -= static_cast<double>(cost);
  return left_ >= 0;
}

}  // namespace gpuscaler
