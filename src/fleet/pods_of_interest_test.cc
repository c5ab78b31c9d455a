// A decision on the nodes of the pods of interest equals the decision on all nodes of their
// namespaces. Tested on many random fleets.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/fake_clock.h"
#include "fleet/fleet_store.h"
#include "gtest/gtest.h"
#include "model/memory_watch.h"
#include "scaling/decision.h"
#include "scaling/test_fleet_builder.h"
#include "scaling/test_random.h"
#include "scaling/workload_pods.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

constexpr int kNodes = 5;

// A pod with one of several names and owners, resolved or not.
GpuPod AnyGpuPod(Random& random, int place) {
  const std::vector<GpuPod> kinds = {
      {.name = "llm", .owner = "llm"},
      {.name = "llm-other-kind", .owner = "StatefulSet/llm"},
      {.name = "llm-by-name", .may_be = {{"Deployment", "llm"}, {"Rollout", "llm"}}},
      {.name = "llm-0-1",
       .may_be = {{"StatefulSet", "llm-0"}, {"LeaderWorkerSet", "llm", "llm-0"}}},
      {.name = "llm-0-0",
       .may_be = {{"StatefulSet", "llm-0"}, {"LeaderWorkerSet", "llm-0", "llm-0-0"}}},
      {.name = "chat", .owner = "chat"},
      {.name = "scaler"},
  };
  // Mostly a few kinds together: a mix of all makes nearly every name an error.
  const int most = random.ThreeInFour() ? 0 : static_cast<int>(kinds.size()) - 1;
  GpuPod pod = kinds[static_cast<size_t>(random.ThreeInFour() ? most * random.Whole(0, 1)
                                                              : random.Whole(0, 6))];
  if (random.Whole(0, 5) == 0) pod.namespace_name = "team-b";
  if (!pod.owner.empty() || !pod.may_be.empty()) absl::StrAppend(&pod.name, "-", place);
  for (int gpu = random.Whole(1, 2); gpu > 0; --gpu) pod.loads.push_back(random.Whole(0, 100));
  if (!random.ThreeInFour()) pod.ready = random.ThreeInFour();
  return pod;
}

struct PolledTrigger {
  Trigger trigger;
  ScaledObjectRef scaled_object;
  int64_t generation = 0;  // as of the last decision
  bool was_owner_known = false;
  Decision decision;
  int repeated = 0;  // decisions without a change
};

PolledTrigger AnyPolledTrigger(Random& random) {
  constexpr const char* kNames[] = {"llm", "llm", "llm-0", "chat", "scaler", "nobody"};
  PolledTrigger polled;
  polled.scaled_object = {.namespace_name = "team-a", .name = kNames[random.Whole(0, 5)]};
  if (!random.ThreeInFour()) polled.scaled_object.allowed_namespaces = {"team-b"};
  Trigger& trigger = polled.trigger;
  if (random.Whole(0, 1) == 0) trigger.workload = kNames[random.Whole(0, 5)];
  if (!trigger.workload.empty() && !random.ThreeInFour()) trigger.workload_kind = "LeaderWorkerSet";
  if (!random.ThreeInFour()) trigger.gpu_index = random.Whole(0, 2);
  trigger.target = random.Whole(1, 100);
  trigger.target_type = random.ThreeInFour() ? TargetType::kAverageValue : TargetType::kValue;
  trigger.window = absl::Seconds(random.Whole(0, 60));
  trigger.activation_window = absl::Seconds(random.Whole(0, 90));
  return polled;
}

std::string TextOf(const Contribution& share) {
  return absl::StrCat(share.name, " ", absl::StrJoin(share.gpus, ","), " on ",
                      absl::StrJoin(share.nodes, ","), ": ", Name(share.state), " ",
                      share.load.value_or(-1), share.busy, share.is_preallocated, " ",
                      share.because);
}

// The decision as text, without notes that depend on the number of nodes: missing agents and other
// holders.
std::string TextOf(const Decision& decision) {
  std::string text = absl::StrCat(decision.status.ToString(), "\nvalue ", decision.value,
                                  " active ", decision.active, " ", decision.active_because, "\nR ",
                                  decision.replicas, " ", decision.replicas_from, " unreadable ",
                                  decision.unreadable, " starting ", decision.starting, "\n");
  for (const Contribution& share : decision.contributions)
    absl::StrAppend(&text, TextOf(share), "\n");
  for (const std::string& note : decision.notes) {
    const bool of_others = absl::StrContains(note, " hold GPUs; those of namespace ");
    if (!of_others && !absl::StartsWith(note, "partial: ")) absl::StrAppend(&text, note, "\n");
  }
  return text;
}

class RandomFleet {
 public:
  explicit RandomFleet(Random& random) : random_(random) {
    List();
    for (int node = 0; node < kNodes; ++node) Report(node, AnyReading(node));
  }

  void Step() {
    const bool long_gap = random_.Whole(0, 15) == 0;
    clock_.Advance(long_gap ? absl::Seconds(random_.Whole(60, 150)) : kTick);
    if (random_.Whole(0, 9) == 0) ComeOrGo(random_.Whole(0, kNodes - 1));
    if (random_.Whole(0, 4) == 0) LookBack();
    List();
    for (int node = 0; node < kNodes; ++node) {
      if (gone_.contains(node)) continue;
      switch (random_.Whole(0, 10)) {
        case 0:
          Report(node, AnyReading(node));
          break;
        case 1:
          store_.Lost(AddressOf(node), absl::UnavailableError("connection refused"));
          break;
        case 2:
          break;  // no message
        case 3:
          Report(node, random_.ThreeInFour() ? newest_[node]
                                             : NodeWithoutOwners(newest_[node], "no answer"));
          break;
        case 4:
          Replay(node);
          break;
        default:
          ReportUnchanged(node);
      }
    }
    store_.Tick();
  }

  const FleetStore& store() const { return store_; }

 private:
  static std::string AddressOf(int node) { return absl::StrCat("agent-", node, ":6001"); }

  void List() {
    std::vector<std::string> addresses;
    for (int node = 0; node < kNodes; ++node) {
      if (!gone_.contains(node)) addresses.push_back(AddressOf(node));
    }
    store_.Listed(addresses);
  }

  void ComeOrGo(int node) {
    if (gone_.erase(node) > 0) return;
    gone_.insert(node);
    sent_.erase(node);
    store_.Lost(AddressOf(node), absl::UnavailableError("the node is gone"));
  }

  void LookBack() {
    leases_.RenewLookBack({random_.ThreeInFour() ? "team-a" : "team-b"},
                          absl::Minutes(random_.Whole(3, 5)), clock_.Now(),
                          clock_.Now() + absl::Seconds(random_.Whole(10, 200)));
  }

  NodeSnapshot AnyReading(int node) {
    std::vector<GpuPod> pods;
    for (int i = random_.Whole(0, 2); i > 0; --i) pods.push_back(AnyGpuPod(random_, 10 * node + i));
    return Node(absl::StrCat("gpu-", node), pods);
  }

  void Report(int node, NodeSnapshot snapshot) {
    newest_[node] = snapshot;
    snapshot.taken_at = clock_.Now();
    memory_[node].Annotate(snapshot);
    AgentUpdate update = UpdateOf(node);
    update.readings.push_back(
        {.previous_confirmed_at = std::nullopt, .snapshot = std::move(snapshot)});
    sent_[node].push_back(update.readings.front());
    store_.Received(AddressOf(node), std::move(update));
  }
  // Sends all its readings again on a new stream.
  void Replay(int node) {
    store_.Lost(AddressOf(node), absl::UnavailableError("to be sent again"));
    store_.BeginReplay(AddressOf(node));
    AgentUpdate update = UpdateOf(node);
    update.readings = sent_[node];
    store_.Received(AddressOf(node), std::move(update));
  }
  void ReportUnchanged(int node) {
    AgentUpdate update = UpdateOf(node);
    update.newest_confirmed_at = clock_.Now();
    store_.Received(AddressOf(node), std::move(update));
  }
  AgentUpdate UpdateOf(int node) const {
    return {.node = absl::StrCat("gpu-", node),
            .instance = static_cast<uint64_t>(node),
            .received_at = clock_.Now()};
  }

  Random& random_;
  FakeClock clock_;
  Leases leases_;
  FleetStore store_{clock_,
                    {.timeouts = {.grace = kStaleness.grace,
                                  .forget_after = absl::Minutes(1),
                                  .empty_after = absl::Minutes(1)},
                     .limits = {.horizon = absl::Minutes(4), .join_within = kStaleness.stale_after},
                     .leases = &leases_}};
  std::set<int> gone_;
  std::map<int, NodeSnapshot> newest_;
  std::map<int, std::vector<AgentUpdate::Reading>> sent_;
  std::map<int, MemoryWatch> memory_;
};

bool IncludesChange(const FleetReader::Changes& changes, const PodInterest& wanted,
                    const std::string& owner) {
  return changes.affects_all || std::ranges::any_of(changes.pods, [&](const OwnerKey& pods) {
           return pods.owner == owner &&
                  std::ranges::find(wanted.namespaces, pods.namespace_name) !=
                      wanted.namespaces.end();
         });
}

void ExpectSameAnswerOnFewerNodes(const FleetStore& store, PolledTrigger& polled) {
  const PodInterest wanted = PodsOfInterest(polled.trigger, polled.scaled_object);
  const auto changes = store.ChangedSince(polled.generation);
  const auto fleet = store.NodesFor(wanted);
  const auto whole = store.NodesFor({.namespaces = wanted.namespaces});
  ASSERT_TRUE(fleet.ok() && whole.ok()) << fleet.status() << whole.status();
  ASSERT_LE((*fleet)->nodes.size(), (*whole)->nodes.size());
  const Decision decision = Decide(polled.trigger, polled.scaled_object, **fleet, kStaleness);
  const Decision on_all = Decide(polled.trigger, polled.scaled_object, **whole, kStaleness);
  EXPECT_EQ(TextOf(decision), TextOf(on_all));
  EXPECT_TRUE(on_all.partial || !decision.partial);

  ASSERT_GE((*fleet)->generation, polled.generation);
  if ((*fleet)->generation > polled.generation) {
    EXPECT_TRUE(IncludesChange(changes, wanted, wanted.owner) ||
                (!polled.was_owner_known && IncludesChange(changes, wanted, "")))
        << "a stream would miss the change";
  }
  const bool is_old = (*fleet)->generation == polled.generation;
  if (is_old && (*fleet)->now < polled.decision.valid_until) {
    EXPECT_EQ(TextOf(decision), TextOf(polled.decision)) << "nothing has changed";
    ++polled.repeated;
  }
  polled.generation = (*fleet)->generation;
  polled.was_owner_known = store.IsOwnerKnown(wanted);
  polled.decision = decision;
}

TEST(PodsOfInterest, DecideLikeTheWholeNamespaces) {
  int fewer = 0;
  int repeated = 0;
  ForManySeeds([&](Random& random) {
    RandomFleet fleet(random);
    std::vector<PolledTrigger> triggers;
    for (int i = 0; i < 4; ++i) triggers.push_back(AnyPolledTrigger(random));
    for (int step = 0; step < 25; ++step) {
      fleet.Step();
      for (PolledTrigger& polled : triggers) {
        ExpectSameAnswerOnFewerNodes(fleet.store(), polled);
        fewer += fleet.store().IsOwnerKnown(PodsOfInterest(polled.trigger, polled.scaled_object))
                     ? 1
                     : 0;
        if (testing::Test::HasFailure()) {
          ADD_FAILURE() << "step " << step << ", ScaledObject " << polled.scaled_object.name
                        << ", workload " << polled.trigger.workload_kind << "/"
                        << polled.trigger.workload;
          return;
        }
      }
    }
    for (const PolledTrigger& polled : triggers) repeated += polled.repeated;
  });
  EXPECT_GT(repeated, 1'000 / kPartOfSeeds) << "the same";
  EXPECT_GT(fewer, 3'000 / kPartOfSeeds) << "of 30,000: the cases show something";
}

}  // namespace
}  // namespace gpuscaler
