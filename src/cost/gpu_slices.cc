#include "cost/gpu_slices.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kMigProfile = " MIG ";
constexpr double kSlices = 7;     // compute slices of all GPUs with MIG but the A30
constexpr double kSlicesA30 = 4;  // https://docs.nvidia.com/datacenter/tesla/mig-user-guide

// Removes "3g" from the beginning of "3g.40gb", where `unit` is 'g', and returns 3. Returns empty,
// and removes nothing, if the profile begins with anything else.
std::optional<int> TakeSlices(absl::string_view& profile, char unit) {
  if (profile.size() < 2 || !absl::ascii_isdigit(static_cast<unsigned char>(profile[0])) ||
      profile[1] != unit) {
    return std::nullopt;
  }
  const int slices = profile[0] - '0';
  profile.remove_prefix(2);
  return slices;
}

// A compute instance, "1c.3g.40gb", has a part of the slices of its GPU instance.
std::optional<double> FractionByName(absl::string_view name) {
  const size_t at = name.find(kMigProfile);
  if (at == absl::string_view::npos) return std::nullopt;
  const bool is_a30 = absl::StrContains(name.substr(0, at), "A30");
  absl::string_view profile = name.substr(at + kMigProfile.size());
  std::optional<int> slices = TakeSlices(profile, 'c');
  if (!slices) slices = TakeSlices(profile, 'g');
  if (!slices || *slices == 0) return std::nullopt;
  return std::min(1.0, *slices / (is_a30 ? kSlicesA30 : kSlices));
}

std::optional<double> FractionByMemory(const GpuSample& whole, const GpuSample& instance) {
  if (!whole.memory_total_bytes || !instance.memory_total_bytes) return std::nullopt;
  if (*whole.memory_total_bytes <= 0 || *instance.memory_total_bytes <= 0) return std::nullopt;
  return static_cast<double>(*instance.memory_total_bytes) /
         static_cast<double>(*whole.memory_total_bytes);
}

// Returns empty unless all instances have a fraction and these add up to 1 at most.
template <typename FractionOf>
std::vector<double> Fractions(const std::vector<const GpuSample*>& instances,
                              FractionOf fraction_of) {
  std::vector<double> fractions;
  double sum = 0;
  for (const GpuSample* const instance : instances) {
    const std::optional<double> fraction = fraction_of(*instance);
    if (!fraction) return {};
    fractions.push_back(*fraction);
    sum += *fraction;
  }
  constexpr double kRounding = 1e-9;
  return sum <= 1 + kRounding ? fractions : std::vector<double>();
}

std::vector<GpuSlice> SlicesOf(const GpuSample* whole,
                               const std::vector<const GpuSample*>& instances) {
  if (instances.empty()) return {{.gpu = whole}};
  std::vector<double> fractions =
      Fractions(instances, [](const GpuSample& each) { return FractionByName(each.name); });
  if (fractions.empty() && whole != nullptr) {
    fractions = Fractions(
        instances, [whole](const GpuSample& each) { return FractionByMemory(*whole, each); });
  }
  if (fractions.empty()) {
    fractions.assign(instances.size(), 1.0 / static_cast<double>(instances.size()));
  }
  std::vector<GpuSlice> slices;
  double rest = 1;
  for (size_t i = 0; i < instances.size(); ++i) {
    slices.push_back({.gpu = instances[i], .fraction = fractions[i]});
    rest -= fractions[i];
  }
  constexpr double kSmallestRest = 1e-6;
  if (rest > kSmallestRest) slices.push_back({.gpu = nullptr, .fraction = rest});
  return slices;
}

// An instance without its GPU may have the profile in its name.
std::string ModelOf(const GpuSample* whole, const GpuSample& first) {
  const absl::string_view name = whole != nullptr ? whole->name : first.name;
  return std::string(name.substr(0, name.find(kMigProfile)));
}

}  // namespace

std::vector<WholeGpu> WholeGpusOn(const NodeSnapshot& snapshot) {
  std::vector<std::string> order;
  std::map<std::string, std::pair<const GpuSample*, std::vector<const GpuSample*>>> gpus;
  for (const GpuSample& gpu : snapshot.gpus) {
    const std::string& uuid = IsMig(gpu) ? gpu.parent_uuid : gpu.uuid;
    if (!gpus.contains(uuid)) order.push_back(uuid);
    auto& [whole, instances] = gpus[uuid];
    if (IsMig(gpu)) {
      instances.push_back(&gpu);
    } else {
      whole = &gpu;
    }
  }
  std::vector<WholeGpu> result;
  for (const std::string& uuid : order) {
    const auto& [whole, instances] = gpus[uuid];
    result.push_back({.uuid = uuid,
                      .model = ModelOf(whole, whole != nullptr ? *whole : *instances.front()),
                      .slices = SlicesOf(whole, instances)});
  }
  return result;
}

}  // namespace gpuscaler
