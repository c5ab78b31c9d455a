// What is decided on the nodes of the pods that are wanted is what would be on all of their
// namespaces', tried on many random fleets.
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
#include "scaling/dice.h"
#include "scaling/fleet_builder.h"
#include "scaling/workload_pods.h"
#include "trigger/test_triggers.h"

namespace gpuscaler {
namespace {

constexpr int kNodes = 5;

// A pod of that name, as its owners' controllers would call it, or not.
HeldPod AnyHeldPod(Dice& dice, int place) {
  const std::vector<HeldPod> kinds = {
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
  // Mostly a few kinds together: with all of them nearly every name is an error.
  const int most = dice.Often() ? 0 : static_cast<int>(kinds.size()) - 1;
  HeldPod pod =
      kinds[static_cast<size_t>(dice.Often() ? most * dice.Whole(0, 1) : dice.Whole(0, 6))];
  if (dice.Whole(0, 5) == 0) pod.namespace_name = "team-b";
  if (!pod.owner.empty() || !pod.may_be.empty()) absl::StrAppend(&pod.name, "-", place);
  for (int gpu = dice.Whole(1, 2); gpu > 0; --gpu) pod.loads.push_back(dice.Whole(0, 100));
  if (!dice.Often()) pod.ready = dice.Often();
  return pod;
}

struct Question {
  Trigger trigger;
  Asker asker;
  int64_t generation = 0;  // of what it was last decided on
  bool knew = false;
  Decision decision;
  int repeated = 0;  // what nothing had changed for
};

Question AnyQuestion(Dice& dice) {
  constexpr const char* kNames[] = {"llm", "llm", "llm-0", "chat", "scaler", "nobody"};
  Question question;
  question.asker = {.namespace_name = "team-a", .name = kNames[dice.Whole(0, 5)]};
  if (!dice.Often()) question.asker.opened = {"team-b"};
  Trigger& trigger = question.trigger;
  if (dice.Whole(0, 1) == 0) trigger.workload = kNames[dice.Whole(0, 5)];
  if (!trigger.workload.empty() && !dice.Often()) trigger.workload_kind = "LeaderWorkerSet";
  if (!dice.Often()) trigger.gpu_index = dice.Whole(0, 2);
  trigger.target = dice.Whole(1, 100);
  trigger.target_type = dice.Often() ? TargetType::kAverageValue : TargetType::kValue;
  trigger.window = absl::Seconds(dice.Whole(0, 60));
  trigger.activation_window = absl::Seconds(dice.Whole(0, 90));
  return question;
}

std::string TextOf(const ReplicaShare& share) {
  return absl::StrCat(share.name, " ", absl::StrJoin(share.gpus, ","), " on ",
                      absl::StrJoin(share.nodes, ","), ": ", Name(share.state), " ",
                      share.load.value_or(-1), share.busy, share.standing, " ", share.because);
}

// All that is said but for what is missing, and for which others hold GPUs where it has no pod: of
// these some are named.
std::string TextOf(const Decision& decision) {
  std::string text = absl::StrCat(decision.status.ToString(), "\nvalue ", decision.value,
                                  " active ", decision.active, " ", decision.active_because, "\nR ",
                                  decision.replicas, " ", decision.replicas_from, " unreadable ",
                                  decision.unreadable, " warming ", decision.warming, "\n");
  for (const ReplicaShare& share : decision.shares) absl::StrAppend(&text, TextOf(share), "\n");
  for (const std::string& note : decision.notes) {
    const bool of_others = absl::StrContains(note, " hold GPUs; those of namespace ");
    if (!of_others && !absl::StartsWith(note, "partial: ")) absl::StrAppend(&text, note, "\n");
  }
  return text;
}

class RandomFleet {
 public:
  explicit RandomFleet(Dice& dice) : dice_(dice) {
    List();
    for (int node = 0; node < kNodes; ++node) Says(node, AnyReading(node));
  }

  void Step() {
    const bool long_gap = dice_.Whole(0, 15) == 0;
    clock_.Advance(long_gap ? absl::Seconds(dice_.Whole(60, 150)) : kTick);
    if (dice_.Whole(0, 9) == 0) ComeOrGo(dice_.Whole(0, kNodes - 1));
    if (dice_.Whole(0, 4) == 0) LookBack();
    List();
    for (int node = 0; node < kNodes; ++node) {
      if (gone_.contains(node)) continue;
      switch (dice_.Whole(0, 10)) {
        case 0:
          Says(node, AnyReading(node));
          break;
        case 1:
          store_.Lost(AddressOf(node), absl::UnavailableError("connection refused"));
          break;
        case 2:
          break;  // not heard
        case 3:
          Says(node, dice_.Often() ? said_[node] : UnownedNode(said_[node], "no answer"));
          break;
        case 4:
          SaysAgain(node);
          break;
        default:
          SaysNothingNew(node);
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
    told_.erase(node);
    store_.Lost(AddressOf(node), absl::UnavailableError("the node is gone"));
  }

  void LookBack() {
    leases_.RenewLookBack({dice_.Often() ? "team-a" : "team-b"}, absl::Minutes(dice_.Whole(3, 5)),
                          clock_.Now(), clock_.Now() + absl::Seconds(dice_.Whole(10, 200)));
  }

  NodeSnapshot AnyReading(int node) {
    std::vector<HeldPod> pods;
    for (int i = dice_.Whole(0, 2); i > 0; --i) pods.push_back(AnyHeldPod(dice_, 10 * node + i));
    return Node(absl::StrCat("gpu-", node), pods);
  }

  void Says(int node, NodeSnapshot snapshot) {
    said_[node] = snapshot;
    snapshot.taken_at = clock_.Now();
    memory_[node].Annotate(snapshot);
    AgentNews news = NewsOf(node);
    news.readings.push_back({.before_until = std::nullopt, .snapshot = std::move(snapshot)});
    told_[node].push_back(news.readings.front());
    store_.Heard(AddressOf(node), std::move(news));
  }
  // All that it said, on a new stream.
  void SaysAgain(int node) {
    store_.Lost(AddressOf(node), absl::UnavailableError("to be told again"));
    store_.TellsAgain(AddressOf(node));
    AgentNews news = NewsOf(node);
    news.readings = told_[node];
    store_.Heard(AddressOf(node), std::move(news));
  }
  void SaysNothingNew(int node) {
    AgentNews news = NewsOf(node);
    news.unchanged_until = clock_.Now();
    store_.Heard(AddressOf(node), std::move(news));
  }
  AgentNews NewsOf(int node) const {
    return {.node = absl::StrCat("gpu-", node),
            .instance = static_cast<uint64_t>(node),
            .heard_at = clock_.Now()};
  }

  Dice& dice_;
  FakeClock clock_;
  Leases leases_;
  FleetStore store_{clock_,
                    {.patience = {.grace = kPatience.grace,
                                  .forget_after = absl::Minutes(1),
                                  .empty_after = absl::Minutes(1)},
                     .limits = {.horizon = absl::Minutes(4), .join_within = kPatience.stale_after},
                     .leases = &leases_}};
  std::set<int> gone_;
  std::map<int, NodeSnapshot> said_;
  std::map<int, std::vector<AgentNews::Reading>> told_;
  std::map<int, MemoryWatch> memory_;
};

bool Tells(const FleetReader::Changes& changes, const PodsWanted& wanted,
           const std::string& owner) {
  return changes.of_all || std::ranges::any_of(changes.pods, [&](const PodsOf& pods) {
           return pods.owner == owner &&
                  std::ranges::find(wanted.namespaces, pods.namespace_name) !=
                      wanted.namespaces.end();
         });
}

void ExpectSameAnswerOnFewerNodes(const FleetStore& store, Question& question) {
  const PodsWanted wanted = WantedPods(question.trigger, question.asker);
  const auto changes = store.ChangedSince(question.generation);
  const auto fleet = store.Of(wanted);
  const auto whole = store.Of({.namespaces = wanted.namespaces});
  ASSERT_TRUE(fleet.ok() && whole.ok()) << fleet.status() << whole.status();
  ASSERT_LE((*fleet)->nodes.size(), (*whole)->nodes.size());
  const Decision decision = Decide(question.trigger, question.asker, **fleet, kPatience);
  const Decision on_all = Decide(question.trigger, question.asker, **whole, kPatience);
  EXPECT_EQ(TextOf(decision), TextOf(on_all));
  EXPECT_TRUE(on_all.partial || !decision.partial);

  ASSERT_GE((*fleet)->generation, question.generation);
  if ((*fleet)->generation > question.generation) {
    EXPECT_TRUE(Tells(changes, wanted, wanted.owner) ||
                (!question.knew && Tells(changes, wanted, "")))
        << "who watches it would not be told";
  }
  const bool is_old = (*fleet)->generation == question.generation;
  if (is_old && (*fleet)->now < question.decision.valid_until) {
    EXPECT_EQ(TextOf(decision), TextOf(question.decision)) << "nothing has changed";
    ++question.repeated;
  }
  question.generation = (*fleet)->generation;
  question.knew = store.Knows(wanted);
  question.decision = decision;
}

TEST(WantedPods, DecideAsAllPodsOfTheNamespacesWould) {
  int fewer = 0;
  int repeated = 0;
  ForManySeeds([&](Dice& dice) {
    RandomFleet fleet(dice);
    std::vector<Question> questions;
    for (int i = 0; i < 4; ++i) questions.push_back(AnyQuestion(dice));
    for (int step = 0; step < 25; ++step) {
      fleet.Step();
      for (Question& question : questions) {
        ExpectSameAnswerOnFewerNodes(fleet.store(), question);
        fewer += fleet.store().Knows(WantedPods(question.trigger, question.asker)) ? 1 : 0;
        if (testing::Test::HasFailure()) {
          ADD_FAILURE() << "step " << step << ", asker " << question.asker.name << ", workload "
                        << question.trigger.workload_kind << "/" << question.trigger.workload;
          return;
        }
      }
    }
    for (const Question& question : questions) repeated += question.repeated;
  });
  EXPECT_GT(repeated, 1'000) << "the same";
  EXPECT_GT(fewer, 3'000) << "of 30,000: the cases show something";
}

}  // namespace
}  // namespace gpuscaler
