// What engines and queues said over time, in the one number that a trigger asked for: what
// decisions are made from besides GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "model/engine_batch.h"
#include "model/engine_demand.h"
#include "model/pod.h"

namespace gpuscaler {

struct SignalPoint {
  absl::Time at;
  std::optional<double> value;  // empty: it failed then, or did not tell. Never 0 instead

  friend bool operator==(const SignalPoint&, const SignalPoint&) = default;
};

// What a page says at one of the addresses of its name.
struct SignalPart {
  std::string address;
  std::optional<double> value;  // newest; empty: there is none now
  std::string gap;              // why
};

// One engine's process, one page, one queue.
struct SignalSeries {
  std::string name;  // for people: "vllm at 10.1.2.3:8000", "stream jobs at redis.team-a.svc:6379"

  // Whose it is, as far as is known; of an engine alone.
  std::string namespace_name;  // of its pod
  std::string pod;
  std::string address;  // of its pod, without a port: what ties it to one

  // Of an engine alone: its family, "vllm"; empty while it is not recognised.
  std::string engine;
  // If that family never exports it, or not without a backend that it lacks: those that do.
  std::vector<std::string> reported_by;
  // What a pressure is measured against, for people: "of maxConcurrency 64". Else empty.
  std::string against;
  // The batch behind a pressure, and what an engine shows of its demand; null unless the question
  // is about them (EngineQuestion::memory). A page's demand is the requests that its gauge counts.
  std::shared_ptr<const EngineBatch> batch;
  std::shared_ptr<const EngineDemand> demand;
  // What people should know of a queue's number: that its group does not exist. Else empty.
  std::string note;

  std::string models;  // that an engine serves, separated by commas; empty: not known
  // Set in a capacity record from an agent alone.
  int port = 0;
  std::string gpu_model;  // empty: not known
  std::shared_ptr<const Pod> pod_with_owners;

  std::vector<SignalPoint> points;  // oldest first; as far as was asked for
  std::string gap;  // why its newest reading failed or lacks the number; empty: none

  std::vector<SignalPart> parts;  // of a page, by address: their sum is what it says

  // When it was first read; InfiniteFuture: never, so a process that runs is still loading.
  absl::Time answers_since = absl::InfiniteFuture();
  // A reading of it has come to its end, be it that it failed.
  bool was_tried = false;
  // When it was first among the series; InfinitePast: it was when they were first read.
  absl::Time listed_since = absl::InfinitePast();
  // Since when an engine's requests and counters have not moved, though it has requests: suspect
  // where its GPUs are idle as well (vLLM #22545). Empty: they move, or there are none.
  std::optional<absl::Time> unmoved_since;
};

// The capacity that engines have shown. After they left it is kept by their agents, or by the
// aggregator if no agent reads them.
using CapacityRecords = std::vector<std::shared_ptr<const SignalSeries>>;
inline constexpr absl::Duration kCapacityRecordsKept = absl::Hours(24);

// Where engines are looked for and none is found.
struct WithoutEngine {
  std::string node;  // all of its pods, where `pod` is empty
  std::string namespace_name;
  std::string pod;
  std::string why;          // for people: "its agent does not look for engines"
  bool is_awaited = false;  // of a node that is to tell any moment: it may have some

  friend bool operator==(const WithoutEngine&, const WithoutEngine&) = default;
};

// Immutable once shared.
struct SignalHistory {
  // Counts up with all news of `series` and of which there are; what was computed from an equal
  // number is still right.
  int64_t generation = 0;
  absl::Time now;  // the instant that decisions are made for
  // OK: `series` are all that there are, be it none, but for nodes that are awaited (`without`).
  // UNAVAILABLE: not known yet, or where they are cannot be told. PERMISSION_DENIED,
  // FAILED_PRECONDITION, INVALID_ARGUMENT: they never will be, and why.
  absl::Status status;
  std::vector<SignalSeries> series;  // by name
  // Engines that are listed no more, as far as is looked back on: what they said until then. One
  // that is listed again is among `series` as well, anew.
  std::vector<SignalSeries> left;
  // The records of engines that left within the last day: `batch` and `demand`, without points.
  // Empty unless the question is about demand or pressure.
  CapacityRecords capacity_records;
  // The requests that the gateway in front of these engines holds. Null if the trigger names none.
  // Its updates count in `generation` too.
  std::shared_ptr<const SignalHistory> gateway;
  // Null: none. Of a fleet it is long, the same for all who ask, and seldom another.
  std::shared_ptr<const std::vector<WithoutEngine>> without;
  // Since when they are read without a break: nothing is known of the time before.
  absl::Time read_since = absl::InfiniteFuture();
  // Its first reading is on its way, and worth waiting for.
  bool is_awaited = false;
};

}  // namespace gpuscaler
