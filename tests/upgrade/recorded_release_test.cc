// Servers and clients of this version with recorded bytes of the last release on Debian's gRPC.
//
// recorded/ has both directions of three whole connections of version 0.1.0 with gRPC 1.51.1. They
// are an aggregator's Watch and WatchEngines of an agent that then stops, and `query --explain`,
// which makes seven calls. One GPU goes from 10 % to 20 % and 30 %, and its engine from no request
// to five. The headers are compressed with tables of 4,096 bytes, the default.
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/bound_port.h"
#include "base/fake_clock.h"
#include "base/file_text.h"
#include "base/mutex.h"
#include "explain.pb.h"
#include "externalscaler.pb.h"
#include "fleet/agent_engines.h"
#include "fleet/agent_stream.h"
#include "fleet/engine_log.h"
#include "fleet/telemetry_service.h"
#include "fleet/test_engines.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/leases.h"
#include "model/snapshot_store.h"
#include "serve/scaler_client.h"
#include "serve/test_served_scaler.h"
#include "signal/found_engines.h"
#include "signal/signal_store.h"
#include "telemetry.pb.h"
#include "wire/test_frames.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

std::string Recorded(const std::string& name) {
  auto bytes = ReadFileText(absl::StrCat(RECORDED_RELEASE, "/", name));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return std::move(bytes).value_or("");
}

std::vector<Frame> FramesOf(absl::string_view bytes) {
  std::vector<Frame> frames;
  absl::ConsumePrefix(&bytes, kPreface);
  while (bytes.size() >= 9) {
    const size_t size = RawPeer::Number(std::string(bytes.substr(0, 3)));
    EXPECT_LE(9 + size, bytes.size());
    frames.push_back({static_cast<FrameType>(bytes[3]), static_cast<uint8_t>(bytes[4]),
                      RawPeer::Number(std::string(bytes.substr(5, 4))),
                      std::string(bytes.substr(9, size))});
    bytes.remove_prefix(std::min(9 + size, bytes.size()));
  }
  EXPECT_EQ(bytes.size(), 0u);
  return frames;
}

// One direction of a call.
struct Sent {
  std::multimap<std::string, std::string> headers;
  std::string data;
  std::multimap<std::string, std::string> trailers;
  bool has_ended = false;

  template <typename Message>
  std::vector<Message> Messages() const {
    std::vector<Message> messages;
    for (size_t at = 0; at + 5 <= data.size();) {
      EXPECT_EQ(data[at], 0) << "compressed";
      const size_t size = RawPeer::Number(data.substr(at + 1, 4));
      if (at + 5 + size > data.size()) break;
      EXPECT_TRUE(messages.emplace_back().ParseFromString(data.substr(at + 5, size)));
      at += 5 + size;
    }
    return messages;
  }
};

// Decodes one direction of a connection.
class SentCalls {
 public:
  SentCalls() { nghttp2_hd_inflate_new(&inflater_); }
  ~SentCalls() { nghttp2_hd_inflate_del(inflater_); }
  SentCalls(const SentCalls&) = delete;
  SentCalls& operator=(const SentCalls&) = delete;

  void Add(const Frame& frame) {
    if (frame.type != FrameType::kData && frame.type != FrameType::kHeaders) return;
    Sent& call = calls_[frame.stream];
    EXPECT_FALSE(call.has_ended);
    call.has_ended = (frame.flags & kEndStream) != 0;
    if (frame.type == FrameType::kData) {
      call.data += frame.payload;
    } else if (call.headers.empty()) {
      call.headers = Fields(frame);
    } else {
      call.trailers = Fields(frame);
    }
  }

  const Sent& operator[](uint32_t stream) { return calls_[stream]; }
  const std::map<uint32_t, Sent>& all() const { return calls_; }

 private:
  std::multimap<std::string, std::string> Fields(const Frame& frame) {
    EXPECT_EQ(frame.flags & ~kEndStream, kEndHeaders);
    std::multimap<std::string, std::string> fields;
    const auto* in = reinterpret_cast<const uint8_t*>(frame.payload.data());
    for (size_t left = frame.payload.size();;) {
      nghttp2_nv field;
      int flags = 0;
      const ssize_t size = nghttp2_hd_inflate_hd2(inflater_, &field, &flags, in, left, 1);
      EXPECT_GE(size, 0) << nghttp2_strerror(static_cast<int>(size));
      if (size < 0) break;
      in += size;
      left -= static_cast<size_t>(size);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        fields.emplace(std::string(reinterpret_cast<const char*>(field.name), field.namelen),
                       std::string(reinterpret_cast<const char*>(field.value), field.valuelen));
      }
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) break;
    }
    nghttp2_hd_inflate_end_headers(inflater_);
    return fields;
  }

  nghttp2_hd_inflater* inflater_ = nullptr;
  std::map<uint32_t, Sent> calls_;
};

SentCalls& Decode(const std::string& recording, SentCalls& calls) {
  for (const Frame& frame : FramesOf(Recorded(recording))) calls.Add(frame);
  return calls;
}

void ExpectGrpcHeaders(const Sent& call) {
  EXPECT_THAT(call.headers, testing::Contains(Pair(":status", "200")));
  EXPECT_THAT(call.headers, testing::Contains(Pair("content-type", "application/grpc")));
}

// Sends the recorded bytes of a client of the release to a server of this version.
class RecordedClient {
 public:
  RecordedClient(int port, const std::string& recording) : peer_(port) {
    EXPECT_TRUE(peer_.Send(Recorded(recording)));
  }

  // Returns the server's calls once `condition` holds for them, or after 10 s without a frame.
  SentCalls& WaitUntil(const std::function<bool(SentCalls&)>& condition) {
    while (!condition(answers_)) {
      const auto frame = peer_.Read();
      if (!frame) {
        ADD_FAILURE() << "the server sends no more";
        break;
      }
      EXPECT_NE(frame->type, FrameType::kReset);
      answers_.Add(*frame);
    }
    return answers_;
  }

 private:
  RawClient peer_;
  SentCalls answers_;
};

// Sends the recorded bytes of a server of the release to a client of this version. A stream's frame
// is sent once the client has opened that stream, and the first frame after the client's SETTINGS.
class RecordedServer {
 public:
  explicit RecordedServer(const std::string& recording) : frames_(FramesOf(Recorded(recording))) {
    auto port = BoundPort::Open("127.0.0.1", 0);
    EXPECT_TRUE(port.ok()) << port.status();
    port_ = port->port();
    listening_ = std::move(*port).Listen().value();
  }
  ~RecordedServer() { close(listening_); }
  RecordedServer(const RecordedServer&) = delete;
  RecordedServer& operator=(const RecordedServer&) = delete;

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }

  // Sends everything through the next DATA frame. Returns false if there is none, or the client is
  // gone.
  bool SendMessage() {
    while (next_ < frames_.size()) {
      const bool is_message = frames_[next_].type == FrameType::kData;
      if (!SendFrame()) return false;
      if (is_message) return true;
    }
    return false;
  }

  // Sends the rest and closes the connection.
  void Finish() {
    while (next_ < frames_.size()) {
      if (!SendFrame()) return;
    }
    shutdown(client_->descriptor(), SHUT_WR);
    EXPECT_TRUE(client_->IsClosed());
  }

 private:
  bool SendFrame() {
    if (client_ == nullptr && !Accept()) return false;
    const Frame& frame = frames_[next_++];
    while (opened_ < frame.stream) {
      const auto head = client_->Read(FrameType::kHeaders);
      if (!head) {
        ADD_FAILURE() << "the client does not open stream " << frame.stream;
        return false;
      }
      opened_ = head->stream;
    }
    const bool is_sent = client_->Send(Encode(frame));
    EXPECT_TRUE(is_sent);
    return is_sent;
  }

  bool Accept() {
    pollfd ready = {.fd = listening_, .events = POLLIN, .revents = 0};
    poll(&ready, 1, 10'000);
    const int connection = accept(listening_, nullptr, nullptr);
    EXPECT_GE(connection, 0) << "no client connects";
    if (connection < 0) return false;
    client_ = std::make_unique<RawPeer>(connection);
    EXPECT_EQ(client_->Take(kPreface.size()), kPreface);
    return client_->Read(FrameType::kSettings).has_value();
  }

  const std::vector<Frame> frames_;
  size_t next_ = 0;
  int port_ = 0;
  int listening_ = -1;
  std::unique_ptr<RawPeer> client_;
  uint32_t opened_ = 0;  // the latest stream
};

// An agent of this version.
class OurAgent {
 public:
  ~OurAgent() { service_.StopStreams(); }

  void Read(double utilization_percent) {
    clock_.Advance(absl::Seconds(1));
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now());
    snapshot.gpus[0].utilization_percent = utilization_percent;
    store_.Put(snapshot);
  }
  void ReadEngine(double running) {
    clock_.Advance(absl::Seconds(1));
    const EngineAddress place = TestPlace("llm-0", 8000, "shop");
    engines_.List(TestEngines({place}, {"shop"}));
    engines_.AddReading(place, TestUpdates(clock_.Now(), running));
  }

  EngineLog& engines() { return engines_; }
  int port() const { return server_->port(); }
  void Stop() { service_.StopStreams(); }

 private:
  FakeClock clock_;
  SnapshotStore store_{clock_, absl::Seconds(5), absl::Minutes(2)};
  Leases leases_;
  EngineLog engines_{clock_, nullptr};
  TelemetryService service_{
      {.horizon = absl::Minutes(2), .engines = &engines_}, clock_, store_, leases_, nullptr};
  const std::unique_ptr<WireServer> server_ =
      *WireServer::Start({.bind_address = "127.0.0.1"}, service_.methods());
};

bool HasAllEnded(size_t count, const SentCalls& calls) {
  size_t ended = 0;
  for (const auto& [stream, call] : calls.all()) ended += call.has_ended ? 1 : 0;
  return ended == count;
}

TEST(RecordedRelease, AggregatorReceivesTheReadingsOfOurAgent) {
  OurAgent agent;
  agent.Read(40);
  RecordedClient aggregator(agent.port(), "watch_client.bin");
  const auto has_reading = [](double utilization) {
    return [utilization](SentCalls& answers) {
      const auto messages = answers[1].Messages<wire::Telemetry>();
      return !messages.empty() && messages.back().readings_size() > 0 &&
             messages.back().readings().rbegin()->gpus(0).utilization_percent() == utilization;
    };
  };
  SentCalls& answers = aggregator.WaitUntil(has_reading(40));
  ASSERT_TRUE(has_reading(40)(answers));
  ExpectGrpcHeaders(answers[1]);
  // A heartbeat may arrive first.
  const wire::Telemetry first = answers[1].Messages<wire::Telemetry>().back();
  EXPECT_EQ(first.node().name(), "gpu-7");
  EXPECT_TRUE(first.readings(0).whole());
  agent.Read(50);
  aggregator.WaitUntil(has_reading(50));
  agent.Stop();
  aggregator.WaitUntil([](SentCalls& calls) { return HasAllEnded(1, calls); });
  EXPECT_THAT(answers[1].trailers, ElementsAre(Pair("grpc-status", "0")));
}

TEST(RecordedRelease, AggregatorReceivesTheEnginesOfOurAgent) {
  OurAgent agent;
  agent.Read(40);
  RecordedClient aggregator(agent.port(), "watch_engines_client.bin");
  ASSERT_TRUE(
      Eventually([&] { return agent.engines().Subscription().namespaces.contains("shop"); }));
  agent.ReadEngine(7);
  SentCalls& answers = aggregator.WaitUntil([](SentCalls& calls) {
    const auto messages = calls[1].Messages<wire::EngineTelemetry>();
    return !messages.empty() && messages.back().readings_size() > 0;
  });
  ExpectGrpcHeaders(answers[1]);
  const auto messages = answers[1].Messages<wire::EngineTelemetry>();
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages[0].node().name(), "gpu-7");
  ASSERT_EQ(messages.back().readings_size(), 1);
  EXPECT_EQ(messages.back().readings(0).engine(), "vllm");
  EXPECT_EQ(messages.back().readings(0).models(0).running(), 7);
  agent.Stop();
  aggregator.WaitUntil([](SentCalls& calls) { return HasAllEnded(1, calls); });
  EXPECT_THAT(answers[1].trailers, ElementsAre(Pair("grpc-status", "0")));
}

TEST(RecordedRelease, QueryIsAnsweredByOurScaler) {
  ServedScaler scaler;
  scaler.Sample({BusyGpu(0, 60)});
  RecordedClient query(scaler.server->port(), "query_client.bin");
  SentCalls& answers = query.WaitUntil([](SentCalls& calls) { return HasAllEnded(7, calls); });
  SentCalls requests;
  std::map<std::string, int> asked;
  for (const auto& [stream, request] : Decode("query_client.bin", requests).all()) {
    const std::string& path = request.headers.find(":path")->second;
    SCOPED_TRACE(absl::StrCat(stream, " ", path));
    const std::string method = path.substr(path.rfind('/') + 1);
    ++asked[method];
    const Sent& answer = answers[stream];
    ExpectGrpcHeaders(answer);
    EXPECT_THAT(answer.trailers, ElementsAre(Pair("grpc-status", "0")));
    if (method == "GetMetricSpec") {
      const auto specs = answer.Messages<externalscaler::GetMetricSpecResponse>();
      ASSERT_THAT(specs, SizeIs(1));
      EXPECT_EQ(specs[0].metricspecs(0).targetsizefloat(), 70);
    } else if (method == "IsActive") {
      const auto active = answer.Messages<externalscaler::IsActiveResponse>();
      ASSERT_THAT(active, SizeIs(1));
      EXPECT_TRUE(active[0].result());
    } else if (method == "GetMetrics") {
      const auto values = answer.Messages<externalscaler::GetMetricsResponse>();
      ASSERT_THAT(values, SizeIs(1));
      EXPECT_EQ(values[0].metricvalues(0).metricvaluefloat(), 60);
    } else {
      const auto explanations = answer.Messages<gpuscaler::v1::Explanation>();
      ASSERT_THAT(explanations, SizeIs(1));
      EXPECT_EQ(explanations[0].value(), 60);
    }
  }
  EXPECT_THAT(asked, UnorderedElementsAre(Pair("GetMetricSpec", 1), Pair("IsActive", 2),
                                          Pair("GetMetrics", 2), Pair("Explain", 2)));
}

// Sends the recording's messages one by one at the pace of the recording, by `clock`, and returns
// them.
template <typename Message>
std::vector<Message> SendAtPace(const std::string& recording, RecordedServer& server,
                                FakeClock& clock, const std::function<int64_t()>& received) {
  SentCalls calls;
  auto messages = Decode(recording, calls)[1].template Messages<Message>();
  int64_t sent_us = messages.at(0).sent_us();
  for (size_t i = 0; i < messages.size(); ++i) {
    clock.Advance(absl::Microseconds(messages[i].sent_us() - sent_us));
    sent_us = messages[i].sent_us();
    EXPECT_TRUE(server.SendMessage());
    const auto want = static_cast<int64_t>(i + 1);
    EXPECT_TRUE(Eventually([&] { return received() == want; })) << recording << ", message " << i;
  }
  server.Finish();
  return messages;
}

// Collects an agent's updates.
class Updates : public AgentListener {
 public:
  void Received(const std::string&, AgentUpdate update) override {
    MutexLock lock(mutex_);
    updates_.push_back(std::move(update));
  }
  void Lost(const std::string&, const absl::Status& why) override {
    MutexLock lock(mutex_);
    lost_.emplace_back(why.message());
  }

  std::vector<AgentUpdate> updates() {
    MutexLock lock(mutex_);
    return updates_;
  }
  std::vector<std::string> lost() {
    MutexLock lock(mutex_);
    return lost_;
  }

 private:
  Mutex mutex_;
  std::vector<AgentUpdate> updates_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> lost_ ABSL_GUARDED_BY(mutex_);
};

TEST(RecordedRelease, OurAggregatorReceivesTheReadingsOfAnAgent) {
  RecordedServer agent("watch_server.bin");
  FakeClock clock;
  EventLoop loop;
  Updates received;
  AgentStream stream({.history = absl::Minutes(2), .reader = "aggregator-0"}, agent.address(),
                     clock, loop, received);
  ASSERT_TRUE(stream.Tick());
  const auto messages = SendAtPace<wire::Telemetry>("watch_server.bin", agent, clock, [&received] {
    return static_cast<int64_t>(received.updates().size());
  });
  ASSERT_TRUE(Eventually([&] { return !received.lost().empty(); }));
  EXPECT_THAT(received.lost(), ElementsAre("the agent has ended the stream"));

  const std::vector<AgentUpdate> updates = received.updates();
  ASSERT_EQ(updates.size(), messages.size());
  std::vector<double> utilization;
  for (size_t i = 0; i < updates.size(); ++i) {
    SCOPED_TRACE(messages[i].DebugString());
    EXPECT_EQ(updates[i].node, "gpu-0");
    EXPECT_EQ(updates[i].version, "0.1.0");
    EXPECT_EQ(updates[i].implausible, "");
    ASSERT_EQ(updates[i].readings.size(), static_cast<size_t>(messages[i].readings_size()));
    for (size_t r = 0; r < updates[i].readings.size(); ++r) {
      const NodeSnapshot& snapshot = updates[i].readings[r].snapshot;
      EXPECT_EQ(updates[i].received_at - snapshot.taken_at,
                absl::Microseconds(messages[i].sent_us() -
                                   messages[i].readings(static_cast<int>(r)).taken_us()));
      ASSERT_THAT(snapshot.gpus, SizeIs(1));
      EXPECT_EQ(snapshot.gpus[0].uuid, "GPU-1");
      EXPECT_EQ(snapshot.gpus[0].memory_used_bytes, 72'000);
      utilization.push_back(snapshot.gpus[0].utilization_percent.value_or(-1));
    }
  }
  EXPECT_THAT(utilization, ElementsAre(10, 10, 20, 30));
  const NodeSnapshot& newest = updates[3].readings.at(0).snapshot;
  EXPECT_EQ(newest.attribution.state, Attribution::State::kKnown);
  ASSERT_THAT(newest.pods, SizeIs(1));
  EXPECT_EQ(newest.pods[0].namespace_name, "shop");
  EXPECT_EQ(newest.pods[0].name, "llm-6d4cf56db6-x7k2p");
}

TEST(RecordedRelease, OurAggregatorReceivesTheEnginesOfAnAgent) {
  const SignalSource found = {.namespace_name = "shop", .target = DiscoveredEngines()};
  const EngineQuery running = {.metric = EngineMetric::kRequestsRunning,
                               .look_back = absl::Minutes(1)};
  FakeClock clock;
  SignalStore store({.max_gap = absl::Seconds(10)}, [] {});
  FoundEngines engines(store);
  ASSERT_TRUE(store.Lease(found, running, clock.Now(), clock.Now() + absl::Hours(1)).ok());
  engines.SetNodes(engines.Subscription(clock.Now()), {"gpu-0"}, clock.Now());
  RecordedServer agent("watch_engines_server.bin");
  EventLoop loop;
  AgentEngines stream({.reader = "aggregator-0"}, agent.address(), "gpu-0", clock, loop, engines);
  stream.Subscribe(std::make_shared<EngineSubscription>(SubscribedIn("shop")));
  stream.Tick();
  const auto messages = SendAtPace<wire::EngineTelemetry>(
      "watch_engines_server.bin", agent, clock, [&stream] { return stream.counts().messages; });
  ASSERT_TRUE(Eventually([&] { return !stream.is_open(); }));
  EXPECT_EQ(stream.counts().readings, 6);

  const SignalHistory history = store.HistoryOf(found, running, clock.Now());
  ASSERT_THAT(history.series, SizeIs(1));
  EXPECT_EQ(history.series[0].engine, "vllm");
  EXPECT_EQ(history.series[0].pod, "llm-6d4cf56db6-x7k2p");
  EXPECT_EQ(history.series[0].address, "10.77.0.5");
  std::vector<double> values;
  for (const SignalPoint& point : history.series[0].points) {
    values.push_back(point.value.value_or(-1));
  }
  EXPECT_THAT(values, ElementsAre(0, 0, 1, 5, 5, 5));
  EXPECT_EQ(history.series[0].points.back().at,
            clock.Now() - absl::Microseconds(messages.back().sent_us() -
                                             messages.back().readings(0).taken_us()));
}

TEST(RecordedRelease, OurQueryIsAnsweredByAScaler) {
  RecordedServer scaler("query_server.bin");
  std::thread sending([&] { scaler.Finish(); });
  auto client = ScalerClient::Open({.address = scaler.address()});
  ASSERT_TRUE(client.ok()) << client.status();
  const TriggerRef trigger = {.name = "llm", .namespace_name = "shop", .metadata = {}};
  // The calls in the order of the recording.
  const auto spec = (*client)->GetMetricSpec(trigger);
  const auto active = (*client)->IsActive(trigger);
  const auto explained = (*client)->Explain(trigger);
  const auto value = (*client)->GetMetrics(trigger, "keda_gpu_metric");
  const auto next_value = (*client)->GetMetrics(trigger, "keda_gpu_metric");
  const auto next_explained = (*client)->Explain(trigger);
  const auto next_active = (*client)->IsActive(trigger);
  sending.join();
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->metric_name, "keda_gpu_metric");
  EXPECT_EQ(spec->target, 70);
  ASSERT_TRUE(active.ok() && next_active.ok()) << active.status() << next_active.status();
  EXPECT_TRUE(*active && *next_active);
  ASSERT_TRUE(value.ok() && next_value.ok()) << value.status() << next_value.status();
  EXPECT_NEAR(*value, 12.154, 0.001);
  EXPECT_EQ(*next_value, 12.155);
  ASSERT_TRUE(explained.ok() && next_explained.ok());
  EXPECT_NEAR(explained->value(), 12.152, 0.001);
  EXPECT_EQ(next_explained->value(), 12.155);
  ASSERT_EQ(next_explained->shares_size(), 1);
  EXPECT_EQ(next_explained->shares(0).name(), "llm-6d4cf56db6-x7k2p");
  EXPECT_EQ(next_explained->nodes(0).name(), "gpu-0");
}

}  // namespace
}  // namespace gpuscaler
