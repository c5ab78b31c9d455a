// The engines of one source: at each address of a name, or in the pods of a namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/not_yet.h"
#include "engine/engine_reading.h"
#include "engine/engine_timeline.h"
#include "model/engine_metric.h"
#include "model/signal_history.h"

namespace gpuscaler {

// Where one engine's process is.
struct EnginePlace {
  std::string address;  // an IP address, of its pod
  int port = 0;
  std::string namespace_name;  // of its pod, where that is known
  std::string pod;

  friend auto operator<=>(const EnginePlace&, const EnginePlace&) = default;
};

// What a reading of an engine gave.
struct EngineUpdate {
  absl::Time at;             // the answer's
  absl::string_view engine;  // "vllm"
  absl::StatusOr<EngineReading> reading;
  // Its agent's record of it (NodeCapacityRecords); null: as before.
  std::shared_ptr<const SignalSeries> capacity_record = nullptr;
};

// "vllm at 10.1.2.3:8000"; "engine at ..." if it is not recognised.
std::string EngineName(const EnginePlace& place, absl::string_view engine);

inline constexpr size_t kMostEngines = 10000;  // of a source

// Not thread-safe.
class EngineGroup {
 public:
  // Replaces the engines by those at `places`. The others have left: their readings are kept until
  // no question looks back on them and `kept_since` is past, and behind a name a capacity record
  // for a day. An error leaves the engines as they are, and answers return it. Only the first
  // kMostEngines places count, and answers to more are an error. `without`: where none is found;
  // while some of it is awaited, engines that are listed later were there from the beginning.
  // `capacity_records`: those of agents, of engines that left. Returns false if nothing is new.
  bool List(const absl::StatusOr<std::vector<EnginePlace>>& places, absl::Time at,
            const std::vector<WithoutEngine>& without = {},
            absl::Time kept_since = absl::InfinitePast(),
            const CapacityRecords& capacity_records = {});

  // Of one that is not listed it is dropped, and so is what was read no later than its newest
  // reading. False: it was.
  // Its readings before `kept_since`, which no question looks back on, may go.
  bool Take(const EnginePlace& place, const EngineUpdate& update,
            absl::Time kept_since = absl::InfinitePast());

  // From now on readings of these models by themselves are kept, and of no others.
  void KeepOnly(const std::set<std::string>& models);

  void ForgetHistograms();

  // Engines that have left are kept for this long at least.
  void Remember(absl::Duration memory) { memory_ = memory; }

  size_t size() const { return engines_.size(); }
  bool HasNone() const { return listed_.ok() && engines_.empty(); }  // as far as is known
  size_t Bytes() const { return bytes_; }                            // of memory, about

  // Counts up with each news of those that `counts` is true for, and of which there are.
  int64_t Updates(absl::FunctionRef<bool(const EnginePlace&)> counts) const;

  // What those say that `counts` is true for, with the status of the newest List(): UNAVAILABLE
  // before the first. All records that agents keep are in it: the pods that they are of may have
  // left long before the fleet's past begins, so `counts` does not know them.
  SignalHistory Answer(const EngineQuestion& question, absl::Time now, absl::Duration longest_gap,
                       absl::FunctionRef<bool(const EnginePlace&)> counts) const;

 private:
  struct Listed {
    absl::Time since;  // SignalSeries::listed_since
    EngineTimeline engine;
    int64_t update = 0;  // the number of its newest
    std::shared_ptr<const SignalSeries>
        capacity_record;  // the newest record of its agent; null: none
  };
  struct Left {
    EnginePlace place;
    absl::Time at;
    Listed listed;
  };

  static void AddRecord(const Listed& listed, const EngineQuestion& question, SignalSeries& series);
  bool CountList(bool is_new);
  // True: they are others than before.
  bool Replace(const std::set<EnginePlace>& places, absl::Time since, absl::Time at);
  void ForgetLeft(absl::Time kept_since);
  // Keeps the capacity record of an engine behind a name: no agent reads it, so none keeps one.
  void RecordCapacity(const Left& left);
  // True: one of them is new.
  bool AddNew(const std::set<EnginePlace>& places, absl::Time since);
  // All of them may have changed.
  void Weigh();

  absl::Status listed_ = NotYet("not looked for yet");
  bool was_whole_ = false;  // a list that awaited none
  std::map<EnginePlace, Listed> engines_;
  std::vector<Left> left_;            // that ever answered; the first that left first
  CapacityRecords capacity_records_;  // those of agents
  CapacityRecords own_records_;       // the first that left first
  std::shared_ptr<const std::vector<WithoutEngine>> without_ =
      std::make_shared<const std::vector<WithoutEngine>>();
  std::set<std::string> models_;
  absl::Duration memory_;
  size_t bytes_ = 0;
  int64_t update_ = 0;          // all so far
  int64_t version_of_all_ = 0;  // the number of the newest list
};

}  // namespace gpuscaler
