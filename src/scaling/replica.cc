#include "scaling/replica.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scaling/aggregate.h"

namespace gpuscaler {
namespace {

using Block = std::span<const GpuSeries>;

// A reading of one GPU, kept to bridge the gaps behind it.
struct LastReading {
  absl::Time at = absl::InfinitePast();
  double value = 0;
};

// One reading of a block's GPUs over time, gaps bridged by readings younger than stale_after.
class Bridge {
 public:
  Bridge(size_t gpus, absl::Duration stale_after) : last_(gpus), stale_after_(stale_after) {}

  void Read(size_t gpu, absl::Time at, std::optional<double> value) {
    if (value) last_[gpu] = {.at = at, .value = *value};
  }

  // InfinitePast when a GPU never gave one.
  absl::Time Oldest() const { return std::ranges::min_element(last_, {}, &LastReading::at)->at; }

  // Empty when a GPU gave none for longer than stale_after.
  std::optional<double> Together(Aggregation aggregation, absl::Time at) const {
    if (at - Oldest() > stale_after_) return std::nullopt;
    if (last_.size() == 1) return last_.front().value;  // no allocation where it is the rule
    std::vector<double> values;
    values.reserve(last_.size());
    for (const LastReading& reading : last_) values.push_back(reading.value);
    return Aggregate(aggregation, std::move(values));
  }

  bool AnyAboveZero(absl::Time at) const {
    return std::ranges::any_of(last_, [&](const LastReading& reading) {
      return reading.value > 0 && at - reading.at <= stale_after_;
    });
  }

 private:
  std::vector<LastReading> last_;
  const absl::Duration stale_after_;
};

// The instant's holder: none while no GPU of the block is in use.
std::optional<absl::Time> HeldSince(Block block, size_t instant) {
  std::optional<absl::Time> since;
  for (const GpuSeries& gpu : block) {
    const GpuSample* sample = gpu.samples[instant];
    if (sample == nullptr || !sample->in_use) continue;
    since = std::min(since.value_or(absl::InfiniteFuture()), sample->held_since);
  }
  return since;
}

std::string BlockName(Block block) {
  const std::string& first = block.front().name;
  if (block.size() == 1) return first;
  const std::string& last = block.back().name;
  return absl::StrCat(first, "-", last.substr(last.rfind('/') + 1));
}

std::vector<std::string> Uuids(Block block) {
  std::vector<std::string> uuids;
  for (const GpuSeries& gpu : block) {
    const auto seen =
        std::ranges::find_if(gpu.samples.rbegin(), gpu.samples.rend(),
                             [](const GpuSample* sample) { return sample != nullptr; });
    uuids.push_back((*seen)->uuid);
  }
  return uuids;
}

std::string GapText(const MetricTypeInfo& metric, Block block) {
  for (const GpuSeries& gpu : block) {
    const GpuSample* newest = gpu.samples.back();
    if (newest == nullptr) return absl::StrCat(gpu.name, " is gone");
    if (metric.read(*newest)) continue;
    const GpuGap* gap = FindGap(*newest, metric.field);
    return gap == nullptr ? absl::StrCat(gpu.name, " has no ", metric.name) : Why(*gap);
  }
  return "";
}

// Walks a block through time and cuts it into one replica per holder.
class BlockReader {
 public:
  BlockReader(const Trigger& trigger, const ScopedHistory& scoped, absl::Duration stale_after,
              Block block)
      : trigger_(trigger),
        metric_(InfoOf(trigger.metric)),
        scoped_(scoped),
        block_(block),
        values_(block.size(), stale_after),
        utilization_(block.size(), stale_after) {}

  std::vector<Replica> Read() {
    for (size_t instant = 0; instant < scoped_.times.size(); ++instant) {
      const ReplicaSample sample = ReadInstant(instant);
      const std::optional<absl::Time> since = HeldSince(block_, instant);
      if (!since) {
        held_ = false;
        continue;
      }
      if (!held_ || replicas_.back().held_since != *since) {
        Begin(*since);
        replicas_.back().samples.reserve(scoped_.times.size() - instant);
      }
      replicas_.back().samples.push_back(sample);
      last_held_.back() = instant;
    }
    if (held_) replicas_.back().present = true;
    for (size_t i = 0; i < replicas_.size(); ++i) {
      replicas_[i].still_memory = StillMemoryAt(last_held_[i]);
    }
    return std::move(replicas_);
  }

  // Of the newest instant, whoever holds the block.
  std::optional<double> Newest() const {
    return values_.Together(trigger_.aggregation, scoped_.Now());
  }

 private:
  void Begin(absl::Time since) {
    held_ = true;
    replicas_.push_back({.name = BlockName(block_),
                         .gpu_uuids = Uuids(block_),
                         .held_since = since,
                         .last_gap = GapText(metric_, block_)});
    last_held_.push_back(0);
  }

  std::vector<StillMemory> StillMemoryAt(size_t instant) const {
    std::vector<StillMemory> still;
    for (const GpuSeries& gpu : block_) {
      if (gpu.samples[instant] != nullptr) still.push_back(gpu.samples[instant]->still_memory);
    }
    return still;
  }

  ReplicaSample ReadInstant(size_t instant) {
    const absl::Time at = scoped_.times[instant];
    ReplicaSample together{.at = at};
    for (size_t gpu = 0; gpu < block_.size(); ++gpu) {
      const GpuSample* sample = block_[gpu].samples[instant];
      if (sample == nullptr) continue;
      values_.Read(gpu, at, metric_.read(*sample));
      utilization_.Read(gpu, at, sample->utilization_percent);
    }
    together.metric = values_.Together(trigger_.aggregation, at);
    together.utilization = utilization_.Together(trigger_.aggregation, at);
    together.busy = utilization_.AnyAboveZero(at);
    together.metric_read_at = values_.Oldest();
    together.utilization_read_at = utilization_.Oldest();
    return together;
  }

  const Trigger& trigger_;
  const MetricTypeInfo& metric_;
  const ScopedHistory& scoped_;
  const Block block_;
  Bridge values_;
  Bridge utilization_;
  bool held_ = false;
  std::vector<Replica> replicas_;
  std::vector<size_t> last_held_;  // the last instant of each
};

// Blocks of GPUs that are there; a GPU that has gone stands alone.
std::vector<Block> BlocksOf(const Trigger& trigger, const ScopedHistory& scoped) {
  const std::span<const GpuSeries> gpus(scoped.gpus);
  const size_t wanted = static_cast<size_t>(trigger.gpus_per_replica);
  const auto first_gone = std::ranges::find(gpus, false, &GpuSeries::present);
  const size_t present = static_cast<size_t>(first_gone - gpus.begin());
  std::vector<Block> blocks;
  for (size_t first = 0; first < gpus.size();) {
    const size_t size = first < present ? std::min(wanted, present - first) : 1;
    blocks.push_back(gpus.subspan(first, size));
    first += size;
  }
  return blocks;
}

}  // namespace

Population ReplicasInUse(const Trigger& trigger, const ScopedHistory& scoped,
                         absl::Duration stale_after) {
  Population population{.from = "GPUs in use"};
  std::vector<Replica> gone;
  for (const Block block : BlocksOf(trigger, scoped)) {
    BlockReader reader(trigger, scoped, stale_after, block);
    bool held = false;
    for (Replica& replica : reader.Read()) {
      held |= replica.present;
      (replica.present ? population.replicas : gone).push_back(std::move(replica));
    }
    if (held || !block.front().present) continue;
    population.idle.push_back(
        {.name = BlockName(block), .gpu_uuids = Uuids(block), .metric = reader.Newest()});
  }
  std::ranges::move(gone, std::back_inserter(population.replicas));
  return population;
}

}  // namespace gpuscaler
