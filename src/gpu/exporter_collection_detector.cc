#include "gpu/exporter_collection_detector.h"

#include <utility>

namespace gpuscaler {
namespace {

// One or two missed changes may be due to a request during a collection.
constexpr int kMaxMissed = 2;

}  // namespace

bool ExporterCollectionDetector::Update(const ExporterExposition& page) {
  std::map<Key, Counter> counters;
  std::vector<Counter*> still;
  for (const ExporterDevice& device : page.devices) {
    const std::optional<double>& energy = At(device.values, ExporterField::kEnergy);
    if (!energy.has_value()) continue;
    const Key key(device.uuid, device.instance);
    const auto before = counters_.find(key);
    const bool stands = before != counters_.end() && before->second.energy == *energy;
    Counter& counter = counters[key] = {.energy = *energy};
    if (!stands) continue;
    counter.missed = before->second.missed;
    still.push_back(&counter);
  }
  has_energy_ = !counters.empty();
  const bool moved = !has_energy_ || still.size() < counters.size();
  for (Counter* const counter : still) counter->missed += moved ? 1 : 0;
  counters_ = std::move(counters);
  return moved;
}

bool ExporterCollectionDetector::RepeatsOldValue(const ExporterDevice& device) const {
  const auto found = counters_.find({device.uuid, device.instance});
  return found != counters_.end() && found->second.missed > kMaxMissed;
}

}  // namespace gpuscaler
