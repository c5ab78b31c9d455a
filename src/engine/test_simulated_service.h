// Simulated engines with a time per token of a + b n, for tests: Poisson arrivals, least loaded
// engine first.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "engine/demand.h"
#include "engine/demand_accumulator.h"

namespace gpuscaler {

struct ServiceModel {
  double base_seconds = 0.012;     // a
  double slope_seconds = 0.00025;  // b
  size_t limit = 64;
  double kv_per_request = 0.002;  // share of the cache
  double tokens = 250;            // per answer

  // `n` is the size of the batch.
  double RequestsPerSecond(double n) const {
    return n / ((base_seconds + slope_seconds * n) * tokens);
  }

  // `bound` is the binding limit of one replica's batch.
  double PlannedRequestsPerSecond(double bound) const { return 0.91 * RequestsPerSecond(bound); }
};

class SimulatedEngine {
 public:
  explicit SimulatedEngine(const ServiceModel& model) : model_(model) {}

  size_t InFlight() const { return running_.size() + waiting_; }
  void Add() { ++waiting_; }
  ServiceModel& model() { return model_; }

  void Advance(double seconds) {
    Admit();
    time_ += seconds;
    while (!running_.empty()) {
      const double step =
          model_.base_seconds + model_.slope_seconds * static_cast<double>(running_.size());
      if (time_ < step) return;
      time_ -= step;
      generated_ += static_cast<double>(running_.size());
      ++steps_;
      for (; !running_.empty() && running_.front() <= steps_; running_.pop_front()) {
        done_ += 1;
        answer_tokens_ += model_.tokens;
      }
      Admit();
    }
    time_ = 0;
  }

  ServiceReading Read(absl::Time at) const {
    const auto running = static_cast<double>(running_.size());
    return {.at = at,
            .continues = true,
            .waiting = static_cast<double>(waiting_),
            .running = running,
            .kv_cache_usage_ratio = std::min(1.0, running * model_.kv_per_request),
            .requests_done = done_,
            .generation_tokens = generated_,
            .answers = done_,
            .answer_tokens = answer_tokens_,
            .counters_began = {}};
  }

 private:
  void Admit() {
    for (; waiting_ > 0 && running_.size() < model_.limit; --waiting_) {
      running_.push_back(steps_ + model_.tokens);
    }
  }

  ServiceModel model_;
  std::deque<double> running_;  // step at which each finishes
  size_t waiting_ = 0;
  double steps_ = 0;
  double time_ = 0;
  double done_ = 0;
  double generated_ = 0;
  double answer_tokens_ = 0;
};

// Steps of 100 ms, readings every second.
class SimulatedService {
 public:
  struct Replica {
    SimulatedEngine engine;
    DemandAccumulator demand{};
    std::string gpu_model{};
    bool is_present = true;
    bool is_readable = true;
  };

  SimulatedService(const ServiceModel& model, int replicas, uint32_t seed = 1)
      : model_(model), random_(seed) {
    for (int i = 0; i < replicas; ++i) Start();
  }

  Replica& Start() {
    replicas_.push_back(std::make_unique<Replica>(Replica{.engine = SimulatedEngine(model_)}));
    return *replicas_.back();
  }
  Replica& replica(size_t i) { return *replicas_[i]; }
  ServiceModel& model() { return model_; }
  absl::Time now() const { return now_; }

  void Run(absl::Duration duration, double requests_per_second) {
    const absl::Time end = now_ + duration;
    while (now_ < end) {
      for (int step = 0; step < 10; ++step) Step(requests_per_second / 10);
      now_ += absl::Seconds(1);
      for (const auto& replica : replicas_) {
        if (replica->is_present && replica->is_readable) {
          replica->demand.Take(replica->engine.Read(now_));
        }
      }
    }
  }

  std::vector<EngineDemandInput> Engines(std::optional<double> limit) {
    sums_.clear();
    std::vector<EngineDemandInput> engines;
    for (const auto& replica : replicas_) sums_.push_back(replica->demand.Sums());
    for (size_t i = 0; i < replicas_.size(); ++i) {
      engines.push_back({.sums = sums_[i].has_value() ? &*sums_[i] : nullptr,
                         .gpu_model = replicas_[i]->gpu_model,
                         .is_present = replicas_[i]->is_present,
                         .limit = limit});
    }
    return engines;
  }

  Demand DemandNow(std::optional<double> limit,
                   std::optional<absl::Duration> tpot_slo = std::nullopt) {
    return DemandOf(Engines(limit), tpot_slo, now_);
  }

 private:
  void Step(double arrivals) {
    const int arrived = std::poisson_distribution<int>(arrivals)(random_);
    for (int i = 0; i < arrived; ++i) {
      Replica* least = nullptr;
      for (const auto& replica : replicas_) {
        if (!replica->is_present) continue;
        if (least == nullptr || replica->engine.InFlight() < least->engine.InFlight()) {
          least = replica.get();
        }
      }
      if (least != nullptr) least->engine.Add();
    }
    for (const auto& replica : replicas_) {
      if (replica->is_present) replica->engine.Advance(0.1);
    }
  }

  ServiceModel model_;
  std::mt19937 random_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<std::optional<EngineDemand>> sums_;
  absl::Time now_ = absl::FromUnixSeconds(1'000'000'000);
};

}  // namespace gpuscaler
