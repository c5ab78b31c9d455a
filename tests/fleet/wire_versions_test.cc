// Agents and aggregators of two versions work together, as during an upgrade.
#include <google/protobuf/message.h>

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "base/mutex.h"
#include "base/periodic_thread.h"
#include "fault_test.h"
#include "telemetry.pb.h"
#include "wire/test_call.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

// Adds fields that no version has yet, to a message and all nested messages.
void AddUnknownFields(google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const auto* const field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      AddUnknownFields(*reflection.MutableMessage(&message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      AddUnknownFields(*reflection.MutableRepeatedMessage(&message, field, i));
    }
  }
  reflection.MutableUnknownFields(&message)->AddVarint(1000, 7);
  reflection.MutableUnknownFields(&message)->AddLengthDelimited(1001, "of a later version");
}

// The minimum that an agent can send about a GPU at 60 % and the pod that holds it.
wire::Telemetry SparseForm(const std::string& node) {
  wire::Telemetry message;
  message.set_sent_us(1'000'000);
  message.mutable_node()->set_name(node);
  wire::Reading& reading = *message.add_readings();
  reading.set_taken_us(1'000'000);
  reading.set_whole(true);
  wire::Gpu& gpu = *reading.add_gpus();
  gpu.set_uuid(absl::StrCat("GPU-", node));
  gpu.set_utilization_percent(60);
  gpu.mutable_holders()->add_holders()->set_share(1);
  reading.mutable_attribution()->set_state(wire::Attribution::KNOWN);
  wire::Pod& pod = *reading.mutable_pods()->add_pods();
  pod.set_namespace_name("shop");
  pod.set_name(absl::StrCat("web-6d4cf56db6-", node));
  wire::Owner& owner = *pod.add_owners();
  owner.set_kind("Deployment");
  owner.set_name("web");
  return message;
}

// All that an agent sends today, and unknown fields.
wire::Telemetry LaterForm(const std::string& node) {
  wire::Telemetry message = SparseForm(node);
  message.mutable_node()->set_agent_version("99.0.0");
  message.mutable_node()->set_instance(4711);
  wire::Gpu& gpu = *message.mutable_readings(0)->mutable_gpus(0);
  wire::Gap& gap = *gpu.mutable_gaps()->add_gaps();
  gap.set_field(static_cast<wire::Gap::Field>(99));
  gap.set_reason(static_cast<wire::Gap::Reason>(99));
  wire::Pod& pod = *message.mutable_readings(0)->mutable_pods()->mutable_pods(0);
  pod.set_owners_from(static_cast<wire::Pod::OwnersFrom>(99));
  pod.set_listed_since_us(500'000);
  pod.set_owner_listed_since_us(400'000);
  AddUnknownFields(message);
  return message;
}

// The first message of an agent of version 0.1.0 as recorded on the wire: a reading before the
// kubelet's first list, the change with the pod of a GPU at 60 %, and a reading without changes.
constexpr char kRecorded[] =
    "0880caa4cc94b4b006121d0a056770752d3012046e766d6c2205302e312e3029ece76fb4cb9c2d8b1a5008e6"
    "e097ca94b4b0061801221e120b4750552d6770752d302d30220353696d310000000000004e40a801012a2108"
    "02121d746865206b7562656c657420776173206e6f742061736b65642079657432001a6608f2e698ca94b4b0"
    "062214c201110a0f1204766c6c6d19000000000000f03f2a02080132410a3f0a0473686f7012147765622d36"
    "6434636635366462362d78376b626222110a0a4465706c6f796d656e741203776562220e0a07526f6c6c6f75"
    "74120377656220c09599cc94b4b006";

wire::Telemetry RecordedForm() {
  wire::Telemetry message;
  EXPECT_TRUE(message.ParseFromString(absl::HexStringToBytes(kRecorded)));
  return message;
}

constexpr char kWatch[] = "/gpuscaler.telemetry.v1.NodeTelemetry/Watch";

// A fake agent: sends `first` to each reader, then messages without changes.
class FakeAgent {
 public:
  explicit FakeAgent(wire::Telemetry first)
      : first_(std::move(first)),
        server_(*WireServer::Start({.bind_address = "127.0.0.1"},
                                   {{kWatch,
                                     [this](const std::shared_ptr<ServerCall>& call) {
                                       return std::make_shared<Reader>(*this, call);
                                     }}})),
        heartbeats_("heartbeats", absl::Seconds(1), [this] { SendHeartbeats(); }) {}

  std::string address() const { return absl::StrCat("127.0.0.1:", server_->port()); }

 private:
  class Reader : public ServerCall::Handler {
   public:
    Reader(FakeAgent& agent, std::shared_ptr<ServerCall> call)
        : agent_(agent), call_(std::move(call)) {}

    void OnMessage(std::string bytes) override {
      wire::Subscription wanted;
      EXPECT_TRUE(wanted.ParseFromString(bytes));
      MutexLock lock(agent_.mutex_);
      const bool is_new = agent_.readers_.emplace(call_, absl::Now()).second;
      if (is_new) call_->Write(agent_.first_.SerializeAsString());
    }
    void OnEnd() override {
      MutexLock lock(agent_.mutex_);
      agent_.readers_.erase(call_);
    }

   private:
    FakeAgent& agent_;
    const std::shared_ptr<ServerCall> call_;
  };

  void SendHeartbeats() {
    MutexLock lock(mutex_);
    for (const auto& [call, since] : readers_) {
      const int64_t now = first_.sent_us() + absl::ToInt64Microseconds(absl::Now() - since);
      wire::Telemetry heartbeat;
      heartbeat.set_sent_us(now);
      heartbeat.set_unchanged_until_us(now);
      call->Write(heartbeat.SerializeAsString());
    }
  }

  const wire::Telemetry first_;
  Mutex mutex_;
  // When `first_` was sent to each reader.
  std::map<std::shared_ptr<ServerCall>, absl::Time> readers_ ABSL_GUARDED_BY(mutex_);
  const std::unique_ptr<WireServer> server_;
  PeriodicThread heartbeats_;
};

class WireVersionsTest : public FaultTest {};

TEST_F(WireVersionsTest, AgentsOfOlderAndLaterVersionsAreAccepted) {
  FakeAgent recorded(RecordedForm()), sparse(SparseForm("b4c5d")), later(LaterForm("f6g7h"));
  const absl::Time began = absl::Now();
  aggregator_ = StartAggregator(
      absl::StrCat("static:", recorded.address(), ",", sparse.address(), ",", later.address()));
  keda_ = PollAsKeda(*aggregator_);
  const absl::Duration known = TimeTo(kWhole, began);
  absl::SleepFor(kGrace);  // later heartbeats are accepted too
  ExpectNoWrongScaling(keda_->Since(began), kWhole, kWhole, Unknown::kAllowed);
  ReportFault("agents of three versions", keda_->Since(began), known, kReconnected);
}

// The pod is not Ready. Without `listed_for` the message does not contain since when the pod
// exists.
wire::Telemetry StartingForm(const std::string& node, std::optional<absl::Duration> listed_for) {
  wire::Telemetry message = SparseForm(node);
  wire::Pod& pod = *message.mutable_readings(0)->mutable_pods()->mutable_pods(0);
  pod.set_ready(false);
  if (!listed_for) return message;
  pod.set_listed_since_us(message.sent_us() - absl::ToInt64Microseconds(*listed_for));
  return message;
}

// Returns whether the answer becomes `value` and `active` within 30 s.
bool Becomes(double value, KedaLog& keda, bool active) {
  for (const absl::Time end = absl::Now() + absl::Seconds(30); absl::Now() < end;) {
    const KedaAnswer answer = keda.Next();
    if (answer.value.ok() && *answer.value == value && answer.active.ok() &&
        *answer.active == active) {
      return true;
    }
  }
  return false;
}

TEST_F(WireVersionsTest, AStartIsTimedByTheAgentOrSinceThePodWasFound) {
  FakeAgent older(StartingForm("b4c5d", std::nullopt));
  FakeAgent young(StartingForm("f6g7h", absl::Minutes(28)));
  FakeAgent stuck(StartingForm("j8k9l", absl::Minutes(31)));
  std::vector<std::unique_ptr<Server>> aggregators;
  std::vector<std::unique_ptr<KedaLog>> kedas;
  for (const FakeAgent* agent : {&older, &young, &stuck}) {
    aggregators.push_back(StartAggregator(absl::StrCat("static:", agent->address())));
    kedas.push_back(PollAsKeda(*aggregators.back()));
  }
  // A starting replica counts as the target; after its start an idle one adds nothing.
  EXPECT_TRUE(Becomes(kTarget, *kedas[0], true));
  EXPECT_TRUE(Becomes(kTarget, *kedas[1], true));
  EXPECT_TRUE(Becomes(0, *kedas[2], false)) << HistoryText(kedas[2]->Since(absl::InfinitePast()));
  EXPECT_TRUE(Becomes(kTarget, *kedas[0], true)) << "though it was as long on its GPU";
  EXPECT_TRUE(Becomes(kTarget, *kedas[1], true));
}

// Returns the agent's first message with a reading for such a subscription, or nothing after 10 s.
std::optional<wire::Telemetry> FirstReading(const wire::Subscription& wanted,
                                            const std::string& agent) {
  EventLoop loop;
  Channel channel(loop, {.address = agent});
  TestCall<wire::Subscription, wire::Telemetry> watch(channel, kWatch,
                                                      {.timeout = absl::Seconds(10)});
  watch.Write(wanted);
  for (size_t count = 1;; ++count) {
    const std::vector<wire::Telemetry> messages = watch.WaitForMessages(count);
    if (messages.size() < count) return std::nullopt;
    if (messages[count - 1].readings_size() > 0) return messages[count - 1];
  }
}

TEST_F(WireVersionsTest, ReadersOfOlderAndLaterVersionsGetTheWholeReading) {
  StartNodes(1);
  StartAgents();
  wire::Subscription later;
  later.set_history_seconds(10);
  AddUnknownFields(later);
  for (const wire::Subscription& wanted : {wire::Subscription(), later}) {
    const auto first = FirstReading(wanted, agents_[0]->Address());
    ASSERT_TRUE(first.has_value());
    SCOPED_TRACE(first->DebugString());
    const wire::Reading& reading = first->readings(0);
    EXPECT_TRUE(reading.whole());
    ASSERT_EQ(reading.gpus_size(), 1);
    EXPECT_EQ(reading.gpus(0).uuid(), "GPU-gpu-0-0");
    EXPECT_EQ(reading.gpus(0).utilization_percent(), kLoad);
  }
}

}  // namespace
}  // namespace gpuscaler
