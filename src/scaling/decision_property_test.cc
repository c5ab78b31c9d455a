// Properties of all decisions, tested on many random workloads.
#include <cmath>

#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/test_history_builder.h"
#include "scaling/test_random.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

Trigger AnyTrigger(Random& random) {
  Trigger trigger;
  trigger.metric = static_cast<MetricType>(random.Whole(0, 5));
  trigger.target = random.Real(1, 100);
  trigger.target_type = random.ThreeInFour() ? TargetType::kAverageValue : TargetType::kValue;
  trigger.activation_threshold = random.Real(0, 20);
  trigger.gpus_per_replica = random.Whole(1, 3);
  trigger.aggregation = static_cast<Aggregation>(random.Whole(0, 5));
  trigger.replica_aggregation = static_cast<ReplicaAggregation>(random.Whole(0, 3));
  trigger.window_aggregation = static_cast<WindowAggregation>(random.Whole(0, 2));
  trigger.window = absl::Seconds(random.Whole(0, 60));
  trigger.activation_window = absl::Seconds(random.Whole(0, 120));
  trigger.warmup = absl::Seconds(random.Whole(0, 60));
  trigger.preallocation_window = absl::Seconds(random.Whole(0, 120));
  trigger.preallocated_memory = static_cast<PreallocatedMemory>(random.Whole(0, 2));
  trigger.engine_fallback = static_cast<EngineFallback>(random.Whole(0, 2));
  trigger.scale_in = static_cast<ScaleIn>(random.Whole(0, 1));
  return trigger;
}

GpuSample AnyGpu(Random& random, int index, absl::Time now) {
  if (!random.ThreeInFour()) return random.ThreeInFour() ? FreeGpu(index) : LostGpu(index);
  GpuSample gpu = BusyGpu(index, random.Real(0, 100), random.Real(0, 100));
  gpu.memory_utilization_percent = random.Real(0, 100);
  gpu.temperature_celsius = random.Real(20, 90);
  if (!random.ThreeInFour()) gpu.held_since = now - absl::Seconds(random.Whole(0, 90));
  return gpu;
}

FleetHistory AnyHistory(Random& random) {
  HistoryBuilder builder;
  const int gpus = random.Whole(0, 6);
  for (int tick = random.Whole(1, 80); tick > 0; --tick) {
    if (random.Whole(0, 30) == 0) builder.Pause(absl::Seconds(random.Whole(1, 30)));
    std::vector<GpuSample> now;
    for (int i = 0; i < gpus; ++i) {
      if (random.Whole(0, 20) > 0) now.push_back(AnyGpu(random, i, builder.now()));
    }
    builder.Tick(std::move(now));
  }
  return builder.fleet();
}

// GPUs that are unchanged for a while, and outages.
std::vector<std::pair<absl::Duration, std::vector<GpuSample>>> AnyCourse(Random& random) {
  std::vector<std::pair<absl::Duration, std::vector<GpuSample>>> course;
  absl::Time now = HistoryBuilder().now();
  for (int i = random.Whole(1, 12); i > 0; --i) {
    std::vector<GpuSample> gpus;
    for (int gpu = random.Whole(0, 3); gpu >= 0; --gpu) {
      gpus.push_back(random.ThreeInFour() ? BusyGpu(gpu, random.Whole(0, 100), random.Whole(0, 100))
                                          : FreeGpu(gpu));
      if (!random.ThreeInFour()) gpus.back().held_since = now - absl::Seconds(random.Whole(0, 90));
    }
    course.emplace_back(random.Whole(1, 30) * kTick, std::move(gpus));
    if (!random.ThreeInFour()) course.emplace_back(kTick, std::vector<GpuSample>());
  }
  return course;
}

// The replicas hold their GPUs for longer than every window.
double ValueOf(const Trigger& trigger, const std::vector<double>& loads) {
  std::vector<GpuSample> gpus;
  for (size_t i = 0; i < loads.size(); ++i) gpus.push_back(BusyGpu(static_cast<int>(i), loads[i]));
  HistoryBuilder builder;
  builder.RepeatFor(absl::Minutes(3), gpus);
  return Decide(trigger, {}, builder.fleet(), kStaleness).value;
}

std::vector<double> AnyLoads(Random& random, double from, double to) {
  std::vector<double> loads(static_cast<size_t>(random.Whole(1, 8)));
  for (double& load : loads) load = random.Real(from, to);
  return loads;
}

TEST(DecideProperty, ValueIsAlwaysFiniteAndNeverNegative) {
  ForManySeeds([](Random& random) {
    const Decision decision = Decide(AnyTrigger(random), {}, AnyHistory(random), kStaleness);
    EXPECT_TRUE(std::isfinite(decision.value));
    EXPECT_GE(decision.value, 0);
  });
}

TEST(DecideProperty, ErrorHasNoValueAndIsInactive) {
  ForManySeeds([](Random& random) {
    const Decision decision = Decide(AnyTrigger(random), {}, AnyHistory(random), kStaleness);
    if (decision.status.ok()) return;
    EXPECT_EQ(decision.value, 0);
    EXPECT_FALSE(decision.active);
    EXPECT_FALSE(decision.status.message().empty());
  });
}

TEST(DecideProperty, ValueGrowsWithEveryGpusLoad) {
  ForManySeeds([](Random& random) {
    Trigger trigger;
    trigger.aggregation = static_cast<Aggregation>(random.Whole(0, 3));
    trigger.gpus_per_replica = random.Whole(1, 3);
    std::vector<double> loads = AnyLoads(random, 1, 99);
    const double before = ValueOf(trigger, loads);
    loads[static_cast<size_t>(random.Whole(0, static_cast<int>(loads.size()) - 1))] += 1;
    EXPECT_GE(ValueOf(trigger, loads), before - 0.001);
  });
}

TEST(DecideProperty, TwiceTheReplicasAreTwiceTheValue) {
  ForManySeeds([](Random& random) {
    std::vector<double> loads = AnyLoads(random, 0.1, 100);
    const double once = ValueOf(Trigger(), loads);
    loads.insert(loads.end(), loads.begin(), loads.end());
    EXPECT_NEAR(ValueOf(Trigger(), loads), 2 * once, 0.01);
  });
}

TEST(DecideProperty, EqualLoadsAtTheTargetKeepTheReplicas) {
  ForManySeeds([](Random& random) {
    Trigger trigger;
    trigger.target = random.Real(1, 100);
    const size_t replicas = static_cast<size_t>(random.Whole(1, 8));
    const double value = ValueOf(trigger, std::vector<double>(replicas, trigger.target));
    EXPECT_NEAR(value / trigger.target, static_cast<double>(replicas), 0.01);
  });
}

TEST(DecideProperty, IdleEngineWithPreallocatedMemoryAddsNothing) {
  ForManySeeds([](Random& random) {
    Trigger trigger;
    trigger.metric = MetricType::kMemoryUsedPercent;
    trigger.target = random.Real(30, 90);
    trigger.preallocated_memory =
        random.ThreeInFour() ? PreallocatedMemory::kPressure : PreallocatedMemory::kActivity;
    const std::vector<GpuSample> gpus = {BusyGpu(0, 0, random.Real(51, 99)),
                                         BusyGpu(1, 0, random.Real(51, 99))};
    HistoryBuilder builder;
    builder.RepeatFor(absl::Minutes(6), gpus);
    const Decision decision = Decide(trigger, {}, builder.fleet(), kStaleness);
    EXPECT_EQ(decision.value, 0);
    EXPECT_FALSE(decision.active);
  });
}

TEST(DecideProperty, UnreadableReplicasDoNotReverseScaling) {
  ForManySeeds([](Random& random) {
    const Trigger trigger;
    const bool over = random.ThreeInFour();
    const std::vector<double> loads =
        over ? AnyLoads(random, trigger.target, 100) : AnyLoads(random, 0, trigger.target);
    if (loads.size() < 2) return;
    std::vector<GpuSample> before, after;
    for (size_t i = 0; i < loads.size(); ++i) {
      before.push_back(BusyGpu(static_cast<int>(i), loads[i]));
      const bool lost = i > 0 && !random.ThreeInFour();
      after.push_back(lost ? LostGpu(static_cast<int>(i)) : before.back());
    }
    HistoryBuilder builder;
    builder.RepeatFor(absl::Minutes(3), before).RepeatFor(absl::Seconds(30), after);
    const double value = Decide(trigger, {}, builder.fleet(), kStaleness).value;
    const double at_target = trigger.target * static_cast<double>(loads.size());
    if (over) {
      EXPECT_GE(value, at_target - 0.001);
    } else {
      EXPECT_LE(value, at_target + 0.001);
    }
  });
}

TEST(DecideProperty, RunOfEqualReadingsDecidesAsSingleReadings) {
  ForManySeeds([](Random& random) {
    const Trigger trigger = AnyTrigger(random);
    HistoryBuilder together;
    HistoryBuilder one_by_one(absl::ZeroDuration());
    for (const auto& [duration, gpus] : AnyCourse(random)) {
      for (HistoryBuilder* builder : {&together, &one_by_one}) {
        if (gpus.empty()) {
          builder->Pause(5 * duration);
        } else {
          builder->RepeatFor(duration, gpus);
        }
      }
    }
    EXPECT_EQ(Explain(trigger, Decide(trigger, {}, together.fleet(), kStaleness)),
              Explain(trigger, Decide(trigger, {}, one_by_one.fleet(), kStaleness)));
  });
}

TEST(DecideProperty, SameInputsGiveTheSameDecision) {
  ForManySeeds([](Random& random) {
    const Trigger trigger = AnyTrigger(random);
    const FleetHistory history = AnyHistory(random);
    const Decision first = Decide(trigger, {}, history, kStaleness);
    const Decision second = Decide(trigger, {}, history, kStaleness);
    EXPECT_EQ(Explain(trigger, first), Explain(trigger, second));
  });
}

}  // namespace
}  // namespace gpuscaler
