#include "fleet/engine_bounds.h"

#include "base/status_macros.h"
#include "fleet/telemetry_bounds.h"
#include "fleet/wire_text.h"
#include "model/pod.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// A kubelet runs 110 pods by default, and few have more than one engine.
constexpr int kMaxEnginesOfNode = 4096;
constexpr int kMaxLeft = 1024;  // four times what an agent keeps (engine/capacity_records.h)
constexpr int kMaxPort = 65535;
constexpr int kMaxSumsOfEngine = 64;  // later versions may send more

// The limits of an exposition (engine/engine_exposition.h).
constexpr int kMaxModelsOfEngine = 1000;
constexpr int kMaxBucketsOfHistogram = 500;

// The cost of a message besides its bytes, even if it is almost empty: each reading is looked up
// for each subscribed source, and a list is compared with those of all nodes.
constexpr size_t kReadingCost = 128;
constexpr size_t kListCost = 64 << 10;

absl::Status BoundPodName(const std::string& namespace_name, const std::string& pod) {
  RETURN_IF_ERROR(CheckName("a namespace's name", namespace_name, kLongestLabel));
  RETURN_IF_ERROR(CheckName("a pod's name", pod, kLongestObjectName));
  if (!namespace_name.empty() && !pod.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("a pod without a name, or without a namespace");
}

absl::Status BoundLearnt(wire::LearntEngine& learnt) {
  CleanText(*learnt.mutable_models());
  CleanText(*learnt.mutable_gpu_model());
  return CheckCount("sums of an engine", learnt.service_size(), kMaxSumsOfEngine);
}

absl::Status BoundList(wire::EngineList& list) {
  RETURN_IF_ERROR(CheckCount("namespaces of a node", list.namespaces_size(), kMaxEnginesOfNode));
  RETURN_IF_ERROR(CheckCount("engines of a node", list.engines_size(), kMaxEnginesOfNode));
  RETURN_IF_ERROR(CheckCount("pods of a node", list.without_size(), kMaxEnginesOfNode));
  RETURN_IF_ERROR(CheckCount("engines that left a node", list.left_size(), kMaxLeft));
  CleanText(*list.mutable_why());
  for (const std::string& name : list.namespaces()) {
    RETURN_IF_ERROR(CheckName("a namespace's name", name, kLongestLabel));
  }
  for (const wire::FoundEngine& engine : list.engines()) {
    RETURN_IF_ERROR(BoundPodName(engine.namespace_name(), engine.pod()));
    RETURN_IF_ERROR(CheckName("an address", engine.address(), kLongestAddress));
    RETURN_IF_ERROR(CheckCount("as a port", engine.port(), kMaxPort));
  }
  for (wire::PodWithoutEngine& pod : *list.mutable_without()) {
    RETURN_IF_ERROR(BoundPodName(pod.namespace_name(), pod.pod()));
    CleanText(*pod.mutable_why());
  }
  for (wire::LeftEngine& engine : *list.mutable_left()) {
    RETURN_IF_ERROR(BoundPod(*engine.mutable_pod()));
    RETURN_IF_ERROR(CheckName("an address", engine.address(), kLongestAddress));
    RETURN_IF_ERROR(CheckCount("as a port", engine.port(), kMaxPort));
    RETURN_IF_ERROR(CheckName("an engine's name", engine.engine(), kLongestLabel));
    RETURN_IF_ERROR(BoundLearnt(*engine.mutable_learnt()));
  }
  return absl::OkStatus();
}

absl::Status BoundHistogram(const wire::HistogramCounts& counts) {
  RETURN_IF_ERROR(CheckCount("buckets", counts.not_above_size(), kMaxBucketsOfHistogram));
  return CheckCount("buckets", counts.count_size(), kMaxBucketsOfHistogram);
}

absl::Status BoundEngineReading(wire::EngineReading& reading) {
  RETURN_IF_ERROR(CheckName("an engine's name", reading.engine(), kLongestLabel));
  RETURN_IF_ERROR(CheckCount("models of an engine", reading.models_size(), kMaxModelsOfEngine));
  CleanText(*reading.mutable_failed());
  if (reading.has_learnt()) RETURN_IF_ERROR(BoundLearnt(*reading.mutable_learnt()));
  for (wire::EngineModel& model : *reading.mutable_models()) {
    CleanText(*model.mutable_name());
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

}  // namespace gpuscaler
