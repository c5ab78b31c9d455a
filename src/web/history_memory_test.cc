// The memory of a full history: 500 triggers of 4 replicas over 24 hours, with loads that change
// each minute.
#include <cmath>

#include <malloc.h>

#include "absl/strings/str_cat.h"
#include "base/test_sanitizer.h"
#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/test_random.h"
#include "serve/answers.h"
#include "serve/trigger_cache.h"
#include "web/history_recorder.h"
#include "web/test_points.h"
#include "web/trigger_history.h"

namespace gpuscaler {
namespace {

constexpr int kReplicasOfEach = 4;
constexpr int kStepsOfADay = 24 * 240;
// The ring keeps fewer explanations than those from here on, so that earlier ones would leave no
// trace. Building all of them takes a minute.
constexpr int kFirstExplainedStep = 22 * 240;

// With a sanitizer, which counts no memory of malloc and takes minutes for 500 triggers, a fifth of
// the triggers share a fifth of the memory.
constexpr int kPart = kHasSanitizer ? 5 : 1;
constexpr int kTriggers = 500 / kPart;
constexpr size_t kLimitBytes = (size_t{40} << 20) / kPart;

// Bytes that the program has from malloc, with what malloc adds.
size_t HeapBytes() { return mallinfo2().uordblks + mallinfo2().hblkhd; }

// A workload of an engine profile. Its load changes each minute, and the windows spread a change
// over two steps.
class BusyWorkload {
 public:
  explicit BusyWorkload(int number) : random_(number) {
    parsed_.trigger = Trigger();
    parsed_.spec = {.metric_name = "keda_gpu_vllm_inference", .target = 80};
    decision_.active = true;
    decision_.active_because = "gpu_utilization of llm is above activationThreshold 0";
    decision_.replicas = kReplicasOfEach;
    decision_.replicas_from = absl::StrCat("pods of Deployment/llm-", number);
    decision_.demand.emplace();
    decision_.demand->capacities.push_back(
        {.gpu_model = "NVIDIA H100 80GB HBM3", .bound_by = "95 % of 64 requests"});
    decision_.batch_limit = 64;
    for (int replica = 0; replica < kReplicasOfEach; ++replica) {
      const std::string node = absl::StrCat("gpu-node-", (number * 4 + replica) / 8);
      decision_.contributions.push_back(
          {.name = absl::StrCat("llm-", number, "-6d4cf56db6-x7k", replica),
           .gpus = {absl::StrCat("GPU-8f5a1c1e-95b0-4e1f-bd22-", number * 4 + replica)},
           .nodes = {node},
           .load = 0,
           .busy = true,
           .because = ""});
      if (replica % 2 == 0)
        decision_.nodes.push_back({.name = node, .replicas = 2, .age = {}, .why = ""});
    }
  }

  void Step(int step) {
    if (step % 4 == 0) wanted_ = random_.Real(0, 1);
    const double load = step % 4 == 0 ? (load_ + wanted_) / 2 : wanted_;
    load_ = load;
    decision_.value = 0;
    for (size_t i = 0; i < decision_.contributions.size(); ++i) {
      const double share = std::round(load * 80'000 * (1 + 0.1 * static_cast<double>(i))) / 1000;
      decision_.contributions[i].load = share;
      decision_.value += share;
    }
    for (DecidedNode& node : decision_.nodes)
      node.age = absl::Milliseconds(random_.Whole(0, 2'000));
    decision_.demand->replicas = load * 4;
    decision_.demand->arrivals_per_second = load * 28;
    decision_.demand->capacities[0].requests_per_second = 7 + std::floor(load * 2);
    decision_.notes = {DemandText(*decision_.demand)};
  }

  const Decision& decision() const { return decision_; }
  gpuscaler::v1::Explanation Explanation() const {
    return ExplainAnswer(
        CachedDecision{.parsed = std::make_shared<ParsedTrigger>(parsed_), .decision = decision_},
        decision_.taken_at);
  }

 private:
  Random random_;
  ParsedTrigger parsed_;
  Decision decision_;
  double load_ = 0;
  double wanted_ = 0;
};

TEST(HistoryMemory, ADayOf500TriggersTakesLessThan40MiB) {
  std::vector<BusyWorkload> workloads;
  std::vector<TriggerKey> keys;
  for (int i = 0; i < kTriggers; ++i) {
    workloads.emplace_back(i);
    keys.push_back({.namespace_name = absl::StrCat("team-", i % 20),
                    .scaled_object = absl::StrCat("llm-", i),
                    .trigger = "keda_gpu_vllm_inference"});
  }
  const size_t heap_before = HeapBytes();
  TriggerHistory::Options options;
  options.point_bytes /= kPart;
  options.explanation_bytes /= kPart;
  TriggerHistory history(options, kFirstPoint);
  for (int step = 0; step < kStepsOfADay; ++step) {
    for (size_t i = 0; i < workloads.size(); ++i) {
      workloads[i].Step(step);
      HistoryPoint point = PointOf(workloads[i].decision(), 80);
      point.at = StepTime(step);
      history.Record(keys[i], point);
      // The loads change in the first two steps of each minute. Explanations of the others differ
      // in ages only.
      if (step >= kFirstExplainedStep && step % 4 < 2) {
        history.RecordExplanation(keys[i], StepTime(step), workloads[i].Explanation());
      }
    }
    if (step % 240 == 0) history.Expire(StepTime(step));
    ASSERT_LT(history.bytes(), kLimitBytes) << "at step " << step;
  }
  const size_t heap = HeapBytes() - heap_before;
  if (!kHasSanitizer) {
    EXPECT_LT(heap, kLimitBytes);
    EXPECT_LT(static_cast<double>(heap), 1.1 * static_cast<double>(history.bytes()))
        << "bytes() must count what is held";
  }
  RecordProperty("bytes", static_cast<int>(history.bytes()));

  // All points of the day are there, and the ring has the explanations of the last hours.
  const absl::Time end = StepTime(kStepsOfADay - 1);
  for (const TriggerKey& key : keys) {
    const auto series = history.Read(key, kFirstPoint, end);
    ASSERT_EQ(series->since, kFirstPoint);
    ASSERT_EQ(series->points.size(), static_cast<size_t>(kStepsOfADay));
    for (const HistoryPoint& point : series->points) ASSERT_TRUE(point.value.has_value());
  }
  const auto kept = history.ExplanationTimes(keys.front(), kFirstPoint, end);
  ASSERT_FALSE(kept.empty());
  EXPECT_GT(kept.front(), StepTime(kFirstExplainedStep)) << "the ring must have been full";
  EXPECT_GT(end - kept.front(), absl::Hours(1));
  RecordProperty("explained_minutes", static_cast<int>((end - kept.front()) / absl::Minutes(1)));
}

}  // namespace
}  // namespace gpuscaler
