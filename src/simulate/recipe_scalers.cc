#include "simulate/recipe_scalers.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace gpuscaler {
namespace {

constexpr double kMemoryPercent = 90;

class RecipeScaler : public Scaler {
 public:
  explicit RecipeScaler(std::function<double(const SimulatedWorkload&)> query)
      : query_(std::move(query)) {}

  void Observe(const SimulatedWorkload& workload) override { value_ = query_(workload); }
  absl::StatusOr<double> GetMetrics() override { return value_; }
  absl::StatusOr<bool> IsActive() override { return value_ > 0; }

 private:
  const std::function<double(const SimulatedWorkload&)> query_;
  double value_ = 0;
};

double HighestMemory(const SimulatedWorkload& workload) {
  const auto& pods = workload.pods();
  return std::ranges::any_of(pods, [&](const auto& pod) { return pod.IsLoaded(workload.now()); })
             ? kMemoryPercent
             : 0;
}

}  // namespace

KedaTrigger Recipe(std::function<double(const SimulatedWorkload&)> query, double target,
                   TargetType type) {
  return {.scaler = std::make_shared<RecipeScaler>(std::move(query)),
          .target = target,
          .target_type = type};
}

KedaTrigger HeldRequestsRecipe() {
  return Recipe([](const SimulatedWorkload& workload) { return workload.held() > 0 ? 1.0 : 0.0; },
                1);
}

KedaTrigger GoScalerTrigger() { return Recipe(HighestMemory, 80); }

}  // namespace gpuscaler
