// What holds for every workload, tried on many random ones.
#include <cmath>

#include "gtest/gtest.h"
#include "scaling/decision.h"
#include "scaling/dice.h"
#include "scaling/history_builder.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

Trigger AnyTrigger(Dice& dice) {
  Trigger trigger;
  trigger.metric = static_cast<MetricType>(dice.Whole(0, 5));
  trigger.target = dice.Real(1, 100);
  trigger.target_type = dice.Often() ? TargetType::kAverageValue : TargetType::kValue;
  trigger.activation_threshold = dice.Real(0, 20);
  trigger.gpus_per_replica = dice.Whole(1, 3);
  trigger.aggregation = static_cast<Aggregation>(dice.Whole(0, 5));
  trigger.replica_aggregation = static_cast<ReplicaAggregation>(dice.Whole(0, 3));
  trigger.window_aggregation = static_cast<WindowAggregation>(dice.Whole(0, 2));
  trigger.window = absl::Seconds(dice.Whole(0, 60));
  trigger.activation_window = absl::Seconds(dice.Whole(0, 120));
  trigger.warmup = absl::Seconds(dice.Whole(0, 60));
  trigger.preallocation_window = absl::Seconds(dice.Whole(0, 120));
  trigger.standing_memory = static_cast<StandingMemory>(dice.Whole(0, 2));
  trigger.engine_fallback = static_cast<EngineFallback>(dice.Whole(0, 2));
  trigger.scale_in = static_cast<ScaleIn>(dice.Whole(0, 1));
  return trigger;
}

GpuSample AnyGpu(Dice& dice, int index, absl::Time now) {
  if (!dice.Often()) return dice.Often() ? FreeGpu(index) : LostGpu(index);
  GpuSample gpu = BusyGpu(index, dice.Real(0, 100), dice.Real(0, 100));
  gpu.memory_utilization_percent = dice.Real(0, 100);
  gpu.temperature_celsius = dice.Real(20, 90);
  if (!dice.Often()) gpu.held_since = now - absl::Seconds(dice.Whole(0, 90));
  return gpu;
}

FleetHistory AnyHistory(Dice& dice) {
  HistoryBuilder builder;
  const int gpus = dice.Whole(0, 6);
  for (int tick = dice.Whole(1, 80); tick > 0; --tick) {
    if (dice.Whole(0, 30) == 0) builder.Silence(absl::Seconds(dice.Whole(1, 30)));
    std::vector<GpuSample> now;
    for (int i = 0; i < gpus; ++i) {
      if (dice.Whole(0, 20) > 0) now.push_back(AnyGpu(dice, i, builder.now()));
    }
    builder.Tick(std::move(now));
  }
  return builder.fleet();
}

// GPUs that stay as they are for a while, and outages.
std::vector<std::pair<absl::Duration, std::vector<GpuSample>>> AnyCourse(Dice& dice) {
  std::vector<std::pair<absl::Duration, std::vector<GpuSample>>> course;
  absl::Time now = HistoryBuilder().now();
  for (int i = dice.Whole(1, 12); i > 0; --i) {
    std::vector<GpuSample> gpus;
    for (int gpu = dice.Whole(0, 3); gpu >= 0; --gpu) {
      gpus.push_back(dice.Often() ? BusyGpu(gpu, dice.Whole(0, 100), dice.Whole(0, 100))
                                  : FreeGpu(gpu));
      if (!dice.Often()) gpus.back().held_since = now - absl::Seconds(dice.Whole(0, 90));
    }
    course.emplace_back(dice.Whole(1, 30) * kTick, std::move(gpus));
    if (!dice.Often()) course.emplace_back(kTick, std::vector<GpuSample>());
  }
  return course;
}

// Loads of replicas that hold their GPUs for longer than every window.
double ValueOf(const Trigger& trigger, const std::vector<double>& loads) {
  std::vector<GpuSample> gpus;
  for (size_t i = 0; i < loads.size(); ++i) gpus.push_back(BusyGpu(static_cast<int>(i), loads[i]));
  HistoryBuilder builder;
  builder.Hold(absl::Minutes(3), gpus);
  return Decide(trigger, {}, builder.fleet(), kPatience).value;
}

std::vector<double> AnyLoads(Dice& dice, double from, double to) {
  std::vector<double> loads(static_cast<size_t>(dice.Whole(1, 8)));
  for (double& load : loads) load = dice.Real(from, to);
  return loads;
}

TEST(DecideProperty, ValueIsAlwaysFiniteAndNeverNegative) {
  ForManySeeds([](Dice& dice) {
    const Decision decision = Decide(AnyTrigger(dice), {}, AnyHistory(dice), kPatience);
    EXPECT_TRUE(std::isfinite(decision.value));
    EXPECT_GE(decision.value, 0);
  });
}

TEST(DecideProperty, ErrorCarriesNoValueAndNoVerdict) {
  ForManySeeds([](Dice& dice) {
    const Decision decision = Decide(AnyTrigger(dice), {}, AnyHistory(dice), kPatience);
    if (decision.status.ok()) return;
    EXPECT_EQ(decision.value, 0);
    EXPECT_FALSE(decision.active);
    EXPECT_FALSE(decision.status.message().empty());
  });
}

TEST(DecideProperty, ValueGrowsWithEveryGpusLoad) {
  ForManySeeds([](Dice& dice) {
    Trigger trigger;
    trigger.aggregation = static_cast<Aggregation>(dice.Whole(0, 3));
    trigger.gpus_per_replica = dice.Whole(1, 3);
    std::vector<double> loads = AnyLoads(dice, 1, 99);
    const double before = ValueOf(trigger, loads);
    loads[static_cast<size_t>(dice.Whole(0, static_cast<int>(loads.size()) - 1))] += 1;
    EXPECT_GE(ValueOf(trigger, loads), before - 0.001);
  });
}

TEST(DecideProperty, TwiceTheReplicasAreTwiceTheValue) {
  ForManySeeds([](Dice& dice) {
    std::vector<double> loads = AnyLoads(dice, 0.1, 100);
    const double once = ValueOf(Trigger(), loads);
    loads.insert(loads.end(), loads.begin(), loads.end());
    EXPECT_NEAR(ValueOf(Trigger(), loads), 2 * once, 0.01);
  });
}

TEST(DecideProperty, EqualLoadsAtTheTargetAskForTheReplicasThatThereAre) {
  ForManySeeds([](Dice& dice) {
    Trigger trigger;
    trigger.target = dice.Real(1, 100);
    const size_t replicas = static_cast<size_t>(dice.Whole(1, 8));
    const double value = ValueOf(trigger, std::vector<double>(replicas, trigger.target));
    EXPECT_NEAR(value / trigger.target, static_cast<double>(replicas), 0.01);
  });
}

TEST(DecideProperty, IdleEngineWithStandingMemoryIsWorthNothing) {
  ForManySeeds([](Dice& dice) {
    Trigger trigger;
    trigger.metric = MetricType::kMemoryUsedPercent;
    trigger.target = dice.Real(30, 90);
    trigger.standing_memory = dice.Often() ? StandingMemory::kPressure : StandingMemory::kActivity;
    const std::vector<GpuSample> gpus = {BusyGpu(0, 0, dice.Real(51, 99)),
                                         BusyGpu(1, 0, dice.Real(51, 99))};
    HistoryBuilder builder;
    builder.Hold(absl::Minutes(6), gpus);
    const Decision decision = Decide(trigger, {}, builder.fleet(), kPatience);
    EXPECT_EQ(decision.value, 0);
    EXPECT_FALSE(decision.active);
  });
}

TEST(DecideProperty, GapInSomeReplicasTurnsNoDirection) {
  ForManySeeds([](Dice& dice) {
    const Trigger trigger;
    const bool over = dice.Often();
    const std::vector<double> loads =
        over ? AnyLoads(dice, trigger.target, 100) : AnyLoads(dice, 0, trigger.target);
    if (loads.size() < 2) return;
    std::vector<GpuSample> before, after;
    for (size_t i = 0; i < loads.size(); ++i) {
      before.push_back(BusyGpu(static_cast<int>(i), loads[i]));
      const bool lost = i > 0 && !dice.Often();
      after.push_back(lost ? LostGpu(static_cast<int>(i)) : before.back());
    }
    HistoryBuilder builder;
    builder.Hold(absl::Minutes(3), before).Hold(absl::Seconds(30), after);
    const double value = Decide(trigger, {}, builder.fleet(), kPatience).value;
    const double at_target = trigger.target * static_cast<double>(loads.size());
    if (over) {
      EXPECT_GE(value, at_target - 0.001);
    } else {
      EXPECT_LE(value, at_target + 0.001);
    }
  });
}

TEST(DecideProperty, StretchSaysWhatItsReadingsSayOneByOne) {
  ForManySeeds([](Dice& dice) {
    const Trigger trigger = AnyTrigger(dice);
    HistoryBuilder together;
    HistoryBuilder one_by_one(absl::ZeroDuration());
    for (const auto& [duration, gpus] : AnyCourse(dice)) {
      for (HistoryBuilder* builder : {&together, &one_by_one}) {
        if (gpus.empty()) {
          builder->Silence(5 * duration);
        } else {
          builder->Hold(duration, gpus);
        }
      }
    }
    EXPECT_EQ(Explain(trigger, Decide(trigger, {}, together.fleet(), kPatience)),
              Explain(trigger, Decide(trigger, {}, one_by_one.fleet(), kPatience)));
  });
}

TEST(DecideProperty, SameInputsGiveTheSameDecision) {
  ForManySeeds([](Dice& dice) {
    const Trigger trigger = AnyTrigger(dice);
    const FleetHistory history = AnyHistory(dice);
    const Decision first = Decide(trigger, {}, history, kPatience);
    const Decision second = Decide(trigger, {}, history, kPatience);
    EXPECT_EQ(Explain(trigger, first), Explain(trigger, second));
  });
}

}  // namespace
}  // namespace gpuscaler
