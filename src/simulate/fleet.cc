#include "simulate/fleet.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/number_text.h"
#include "simulate/scalers.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kTick = absl::Seconds(5);

void RunFor(Fleet& fleet, absl::Duration duration) {
  const absl::Time start = fleet.service().now();
  for (absl::Duration passed; passed < duration; passed += kTick) {
    fleet.Advance(start + passed);
    fleet.Scale();
  }
}

}  // namespace

Fleet::Fleet(const Scenario& scenario, absl::Time start, int replicas,
             const TriggersOf& triggers_of)
    : scenario_(scenario),
      start_(start),
      service_(scenario.service, start),
      keda_(scenario.scaled_object,
            triggers_of ? triggers_of(service_) : std::vector<KedaTrigger>()),
      desired_(replicas),
      scaled_(triggers_of != nullptr) {
  service_.Scale(desired_);
}

void Fleet::Advance(absl::Time now) {
  // Second by second: as many requests however seldom this is called.
  for (absl::Time next = service_.now() + absl::Seconds(1); next <= now; next += absl::Seconds(1)) {
    service_.Advance(next, scenario_.load.RateAt(next - start_));
  }
}

void Fleet::Scale() {
  if (scaled_) desired_ = keda_.Step(service_.now(), desired_, service_.ready());
  service_.Scale(desired_);
}

bool Fleet::AtRest() const {
  return passed() > scenario_.load.End() && service_.replicas() == 0 && service_.waiting() == 0;
}

ScenarioResult Fleet::ResultAs(std::string name) const {
  return {.name = std::move(name),
          .totals = service_.totals(),
          .replicas = service_.replicas(),
          .waiting = service_.waiting() + service_.running()};
}

ScenarioResult RunStatic(const Scenario& scenario, int replicas, absl::Duration duration) {
  Fleet fleet(scenario, absl::UnixEpoch(), replicas, nullptr);
  RunFor(fleet, duration);
  return fleet.ResultAs(absl::StrCat("static, ", CountText(replicas, "replica")));
}

ScenarioResult RunReference(const Scenario& scenario, absl::Duration duration) {
  std::unique_ptr<ReferenceScaler> reference;
  std::unique_ptr<DemandScaler> demand;
  Fleet fleet(scenario, absl::UnixEpoch(), 0, [&](const InferenceService& service) {
    reference = std::make_unique<ReferenceScaler>(service);
    demand = std::make_unique<DemandScaler>(service);
    return std::vector<KedaTrigger>{{reference.get(), ReferenceScaler::kTarget}, {demand.get()}};
  });
  RunFor(fleet, duration);
  return fleet.ResultAs("the reference's formula");
}

}  // namespace gpuscaler
