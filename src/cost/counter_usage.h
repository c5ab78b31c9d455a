// GPU time from the counters that Prometheus has scraped: corrects resets, and finds missing time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cost/range_answer.h"
#include "cost/static_fleet.h"
#include "cost/usage.h"

namespace gpuscaler {

// Reads the points of keda_gpu_scaler_gpu_seconds_total at equal steps, oldest first.
//
// - A counter grows from 0 when it first appears beside others of its agent.
// - If any counter of an agent falls, or if another agent reports for its node, all of the node's
//   counters began anew. What they had counted between their last point and the restart is lost.
// - A node has as many GPUs as its states added up to in its last step without a restart. After a
//   restart or a gap, the part of their time that no counter has is unknown.
// - A node without points was removed if it is missing for longer than `longest_gap`: the time does
//   not count. Otherwise the time is unknown. Steps in which no node at all has a point do not
//   count towards the gap: Prometheus was down.
// - A node that appears during the period joined it then. If its counters are older than the
//   period, it was there, and the time before is unknown.
// - If two agents report for a node at once, as when two jobs scrape one, only one counts.
//
// Each number is right up to one scrape interval, at the start and the end of the period. Not
// thread-safe.
class CounterUsage {
 public:
  CounterUsage(absl::Time from, absl::Duration step, absl::Duration longest_gap)
      : from_(from), step_(step), longest_gap_(longest_gap) {}

  // Adds the points at the next `steps` steps; the first of all is at `from`. Returns
  // INVALID_ARGUMENT if a series is not one of the agents' counters.
  absl::Status Add(int64_t steps, std::span<const RangeSeries> series);

  // Ends the period at the last step. Must be called once, before the results are used.
  void Finish();

  // Returns rows in order.
  std::vector<Usage> usage() const;
  std::vector<StaticFleet> static_fleets() const;

 private:
  struct CounterId {
    UsageKey key;
    GpuState state = GpuState::kUnknown;

    friend auto operator<=>(const CounterId&, const CounterId&) = default;
  };
  struct Counter {
    size_t id = 0;  // in ids_
    double seconds = 0;
  };
  // The counters of one agent at one step, by id.
  struct Agent {
    std::string name;  // the labels of its scrape target: all but those of CounterId
    std::vector<Counter> counters;

    double Sum() const;
  };
  struct Growth {
    size_t id = 0;
    int64_t micros = 0;
  };

  struct Node {
    Agent agent;                          // the one that counts, at `step`
    int64_t step = 0;                     // the newest with a point
    int64_t fleet_steps = 0;              // fleet_steps_ at `step`
    std::map<std::string, int64_t> gpus;  // number by model; empty: not known yet
    std::optional<Agent> joined;          // its first counters; empty once `gpus` is known
    int64_t joined_step = 0;
    // GPU time in microseconds, by model, that passed without being counted since WholeGpusOf()
    // last returned a value. A point may be older than its step, so a later one can make up for it.
    std::map<std::string, int64_t> missing;
    bool has_restart = false;  // since then, so later points cannot make up for `missing`
  };

  struct Column;  // one series of an answer
  absl::StatusOr<std::vector<Column>> ColumnsOf(std::span<const RangeSeries> series);
  size_t IdOf(CounterId counter);

  void AddToNode(int64_t step, const std::string& name, std::vector<Agent> agents);
  void AddGrowth(int64_t step, const std::string& name, Node& node, const Agent& next);
  void AddMissing(const std::vector<Growth>& growth, int64_t steps, Node& node) const;
  void BookMissing(const std::string& name, Node& node);
  // Returns the number of GPUs by model, if one step's growth is that of a whole number of GPUs.
  std::optional<std::map<std::string, int64_t>> WholeGpusOf(const std::vector<Growth>& growth,
                                                            const Node& node) const;
  // Returns false for counters with more time than passed: those of an agent that ran before, and
  // was not scraped. Nothing shows when that time was.
  bool Fits(const std::vector<Growth>& growth, int64_t steps, const Node& node) const;
  void BookJoined(const std::string& name, Node& node);
  std::map<std::string, int64_t> ByModel(const std::vector<Growth>& growth) const;
  void BookUnknown(const std::string& name, const std::string& model, int64_t micros);
  void Book(const std::vector<Growth>& growth);
  void EndStep();
  // Returns true if a node without points from its newest step to this time is not there any more.
  bool WasRemoved(const Node& node) const;
  int64_t MicrosOf(int64_t steps) const { return steps * absl::ToInt64Microseconds(step_); }

  const absl::Time from_;
  const absl::Duration step_;
  const absl::Duration longest_gap_;
  int64_t next_step_ = 0;
  int64_t fleet_steps_ = 0;  // steps so far in which any node had a point
  std::vector<CounterId> ids_;
  std::map<CounterId, size_t> id_of_;
  std::map<std::string, Node> nodes_;
  std::map<UsageKey, StateTimes> usage_;
  std::map<UsageKey, int64_t> held_in_step_;  // key: the workload, without node
  std::map<UsageKey, int64_t> most_held_;     // in any step
};

}  // namespace gpuscaler
