// More readers of an agent than it has places, from several loopback addresses.
#include "fleet/open_readers.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/fake_clock.h"
#include "base/test_ca.h"
#include "fleet/engine_log.h"
#include "fleet/gpu_wire.h"
#include "fleet/telemetry_service.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "telemetry.pb.h"
#include "wire/client_tls.h"
#include "wire/test_call.h"
#include "wire/test_frames.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using telemetry::v1::EngineSubscription;
using telemetry::v1::EngineTelemetry;
using telemetry::v1::Subscription;
using telemetry::v1::Telemetry;
using testing::HasSubstr;

constexpr int kPlaces = 64;
constexpr char kAggregator[] = "127.0.3.3", kAttacker[] = "127.0.3.4", kStranger[] = "127.0.3.5";
constexpr char kWatch[] = "/gpuscaler.telemetry.v1.NodeTelemetry/Watch";
constexpr char kWatchEngines[] = "/gpuscaler.telemetry.v1.NodeTelemetry/WatchEngines";

template <typename Request, typename Message>
class Reader {
 public:
  Reader(std::shared_ptr<Channel> channel, const char* method, const Request& request = {})
      : channel_(std::move(channel)), call_(*channel_, method) {
    call_.Write(request);
  }

  // Blocks until a message has come. Returns false if the stream has ended.
  bool Reads() {
    ++read_;
    return call_.WaitForMessages(read_).size() >= read_;
  }
  // Returns true once a reading taken at `at` has come.
  bool ReadsUntil(absl::Time at) {
    while (Reads()) {
      const std::vector<Message> messages = call_.messages();
      for (const auto& reading : messages[read_ - 1].readings()) {
        if (reading.taken_us() == ToWire(at)) return true;
      }
    }
    return false;
  }
  // Blocks until the stream has ended.
  absl::Status End() { return *call_.WaitForEnd(); }

 private:
  const std::shared_ptr<Channel> channel_;
  TestCall<Request, Message> call_;
  size_t read_ = 0;
};
using GpuReader = Reader<Subscription, Telemetry>;
using EngineReader = Reader<EngineSubscription, EngineTelemetry>;

// An agent with GPUs and without engines.
class OpenReadersTest : public testing::Test {
 protected:
  ~OpenReadersTest() override {
    service_->StopStreams();
    server_ = nullptr;
  }

  // `aggregators`: none if null.
  void Start(std::unique_ptr<PeerAddresses> aggregators, std::optional<TlsPems> tls = {}) {
    aggregators_ = std::move(aggregators);
    service_ = std::make_unique<TelemetryService>(
        TelemetryOptions{
            .horizon = absl::Minutes(2), .engines = &engines_, .aggregators = aggregators_.get()},
        clock_, store_, leases_, nullptr);
    WireServerOptions options;
    options.bind_address = "127.0.0.1";
    options.tls = std::move(tls);
    server_ = *WireServer::Start(std::move(options), service_->methods());
    TakeReading();
  }
  void StartWithAggregator() {
    Start(std::make_unique<PeerAddresses>(
        PeersOption{.addresses = {absl::StrCat(kAggregator, ":6000")}}, [](const auto&) {}));
  }

  // Returns the time of the reading.
  absl::Time TakeReading() {
    clock_.Advance(absl::Seconds(1));
    NodeSnapshot snapshot = SnapshotOf(1, clock_.Now());
    snapshot.gpus[0].utilization_percent = ++readings_;
    memory_.Annotate(snapshot);
    store_.Put(snapshot);
    return clock_.Now();
  }

  std::shared_ptr<Channel> From(const char* address) {
    return std::make_shared<Channel>(
        loop_,
        Target{.address = absl::StrCat("127.0.0.1:", server_->port()), .source_address = address});
  }

  // Opens readers over one connection. Each gets a place.
  template <typename OneReader = GpuReader>
  std::vector<std::unique_ptr<OneReader>> Open(int count, const char* address,
                                               const char* method = kWatch) {
    return Open<OneReader>(count, From(address), method);
  }
  template <typename OneReader = GpuReader>
  std::vector<std::unique_ptr<OneReader>> Open(int count, const std::shared_ptr<Channel>& channel,
                                               const char* method = kWatch) {
    std::vector<std::unique_ptr<OneReader>> readers;
    for (int i = 0; i < count; ++i) {
      readers.push_back(std::make_unique<OneReader>(channel, method));
      EXPECT_TRUE(readers.back()->Reads()) << i;
    }
    return readers;
  }

  // As above, from one address each.
  template <typename OneReader = GpuReader>
  std::vector<std::unique_ptr<OneReader>> OpenFromEach(int count, const char* method = kWatch) {
    std::vector<std::unique_ptr<OneReader>> readers;
    for (int i = 0; i < count; ++i) {
      auto one = Open<OneReader>(1, absl::StrCat("127.0.1.", i).c_str(), method);
      readers.push_back(std::move(one[0]));
    }
    return readers;
  }

  static void ExpectTooMany(const absl::Status& status, const std::string& why) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(status.message()), HasSubstr("64 readers"));
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }

  EventLoop loop_;  // the readers'
  FakeClock clock_;
  MemoryWatch memory_;
  SnapshotStore store_{clock_, absl::Seconds(5), absl::Minutes(2)};
  Leases leases_;
  EngineLog engines_{clock_, nullptr};
  int readings_ = 0;
  std::atomic<bool> is_listed_ = false;  // the aggregator, by DNS
  std::unique_ptr<PeerAddresses> aggregators_;
  std::unique_ptr<TelemetryService> service_;
  std::unique_ptr<WireServer> server_;
};

TEST_F(OpenReadersTest, AggregatorDisplacesAnotherReader) {
  StartWithAggregator();
  const auto others = OpenFromEach(kPlaces);
  GpuReader aggregator(From(kAggregator), kWatch);
  EXPECT_TRUE(aggregator.Reads());
  ExpectTooMany(others.back()->End(), "given to an aggregator");
  EXPECT_EQ(service_->counts().readers, kPlaces);
  EXPECT_EQ(service_->counts().refused_as_too_many, 1);
  ExpectTooMany(GpuReader(From(kAttacker), kWatch).End(), "none of them comes after this one");
  EXPECT_TRUE(aggregator.ReadsUntil(TakeReading()));
}

TEST_F(OpenReadersTest, AggregatorKeepsItsPlaces) {
  StartWithAggregator();
  const auto aggregator = Open(2, kAggregator);
  const auto others = OpenFromEach(kPlaces - 2);
  ExpectTooMany(GpuReader(From(kStranger), kWatch).End(), "none of them comes after this one");
  const absl::Time taken_at = TakeReading();
  for (const auto& reader : aggregator) EXPECT_TRUE(reader->ReadsUntil(taken_at));
}

TEST_F(OpenReadersTest, AggregatorDisplacesAnotherEngineReader) {
  StartWithAggregator();
  const auto others = OpenFromEach<EngineReader>(kPlaces, kWatchEngines);
  EngineReader aggregator(From(kAggregator), kWatchEngines);
  EXPECT_TRUE(aggregator.Reads());
  ExpectTooMany(others.back()->End(), "given to an aggregator");
  EXPECT_EQ(service_->engine_counts().readers, kPlaces);
}

TEST_F(OpenReadersTest, StrangersCannotTakeTheNamespacesOfAggregators) {
  StartWithAggregator();
  EngineSubscription invented;
  for (size_t i = 0; i < kMaxNamespacesSubscribed; ++i) {
    invented.add_namespaces()->set_name(absl::StrCat("invented-", i));
  }
  invented.set_lease_seconds(3 * 3600);
  testing::internal::CaptureStderr();
  std::vector<std::shared_ptr<Channel>> channels;
  std::vector<std::unique_ptr<TestCall<EngineSubscription, EngineTelemetry>>> calls;
  const auto subscribe = [&](const char* address, const EngineSubscription& wanted) {
    channels.push_back(From(address));
    calls.push_back(std::make_unique<TestCall<EngineSubscription, EngineTelemetry>>(
        *channels.back(), kWatchEngines));
    calls.back()->Write(wanted);
    EXPECT_FALSE(calls.back()->WaitForMessages(1).empty());
  };
  subscribe(kAttacker, invented);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("event=subscription_refused"));
  EXPECT_THAT(log, HasSubstr("2048 namespaces"));
  EXPECT_EQ(engines_.Subscription().namespaces.size(), kMaxNamespacesSubscribed / 2);
  EngineSubscription teams;
  for (size_t i = 0; i < kMaxNamespacesSubscribed; ++i) {
    teams.add_namespaces()->set_name(absl::StrCat("team-", i));
  }
  teams.set_lease_seconds(90);
  subscribe(kAggregator, teams);
  EXPECT_EQ(engines_.Subscription().namespaces.size(),
            kMaxNamespacesSubscribed / 2 + kMaxNamespacesSubscribed);
}

TEST_F(OpenReadersTest, AddressesShareThePlacesWithoutAggregators) {
  Start(nullptr);
  const auto attacker = Open(kPlaces, kAttacker);
  GpuReader aggregator(From(kAggregator), kWatch);
  EXPECT_TRUE(aggregator.Reads());
  ExpectTooMany(attacker.back()->End(), "to another address");
  TakeReading();  // a second later
  for (const char* address : {kAggregator, kAttacker}) {
    ExpectTooMany(GpuReader(From(address), kWatch).End(), "none of them comes after this one");
  }
  EXPECT_TRUE(aggregator.ReadsUntil(TakeReading()));
}

TEST_F(OpenReadersTest, RefusalOfANewAggregatorResolvesTheNames) {
  Start(std::make_unique<PeerAddresses>(
      PeersOption{.host = "aggregators", .port = 6000}, [](const auto&) {}, absl::Hours(1),
      [this](const std::string&, int) -> PeerAddresses::Answer {
        if (!is_listed_) return std::vector<std::string>();
        return std::vector<std::string>{absl::StrCat(kAggregator, ":6000")};
      }));
  const auto strangers = OpenFromEach(kPlaces - 1), first = Open(1, kAggregator);
  ExpectTooMany(GpuReader(From(kAggregator), kWatch).End(), "none of them comes after this one");
  is_listed_ = true;
  bool reads = false;
  const absl::Time end = absl::Now() + absl::Seconds(20);
  while (!reads && absl::Now() < end) {
    TakeReading();  // a second later
    reads = GpuReader(From(kAggregator), kWatch).Reads();
  }
  EXPECT_TRUE(reads);
  ExpectTooMany(strangers.back()->End(), "given to an aggregator");
}

// All readers come from one address, and some have a certificate: the client CA was added while the
// server ran.
TEST_F(OpenReadersTest, ReaderWithACertificateComesFirst) {
  const TestCa ca("our CA");
  const TestCertificate pair = ca.Issue("fleet");
  Start(nullptr, TlsPems{.cert = pair.cert, .key = pair.key, .ca = ""});
  const auto channel = [&](const TestCertificate& shown) {
    const auto tls = ClientTls({.cert = shown.cert, .key = shown.key, .ca = ca.pem()});
    return std::make_shared<Channel>(loop_,
                                     Target{.address = absl::StrCat("127.0.0.1:", server_->port()),
                                            .tls = [context = *tls] { return context; }});
  };
  const auto others = Open(kPlaces, channel({}));
  ASSERT_TRUE(server_->SetTls({.cert = pair.cert, .key = pair.key, .ca = ca.pem()}).ok());
  TakeReading();  // a second later
  GpuReader aggregator(channel(pair), kWatch);
  EXPECT_TRUE(aggregator.ReadsUntil(TakeReading()));
  ExpectTooMany(others.back()->End(), "given to an aggregator");
}

TEST_F(OpenReadersTest, LogsFewReadersOfEachKindAndTheStartOfTheirNames) {
  StartWithAggregator();
  const std::string name(1000, 'x');
  const auto channel = From(kStranger);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 20; ++i) {
    Subscription gpus;
    gpus.set_reader(name + "\n");
    EXPECT_TRUE(GpuReader(channel, kWatch, gpus).Reads());
    EngineSubscription engines;
    engines.set_reader(name + "\n");
    EXPECT_TRUE(EngineReader(channel, kWatchEngines, engines).Reads());
  }
  const std::vector<std::string> lines =
      absl::StrSplit(testing::internal::GetCapturedStderr(), '\n');
  for (const char* event : {"event=telemetry_reader ", "event=engine_reader "}) {
    EXPECT_EQ(std::ranges::count_if(
                  lines, [&](const std::string& each) { return absl::StrContains(each, event); }),
              10);
  }
  EXPECT_THAT(lines, testing::Each(testing::Not(HasSubstr(std::string(254, 'x')))));
}

// Each stream costs the event loop time, also if it ends at once.
TEST_F(OpenReadersTest, AnAddressOpensFewStreams) {
  StartWithAggregator();
  const auto stranger = From(kStranger);
  const auto expect_refused = [&] {
    const absl::Status end = GpuReader(stranger, kWatch).End();
    EXPECT_EQ(end.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(end.message()), HasSubstr("64 streams at once, then 2 per second"));
  };
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(GpuReader(stranger, kWatch).Reads()) << i;
  expect_refused();
  EXPECT_EQ(service_->counts().refused_as_too_many, 1);
  EXPECT_TRUE(EngineReader(stranger, kWatchEngines).Reads()) << "the other method has its own";
  EXPECT_TRUE(GpuReader(From(kAggregator), kWatch).Reads());
  TakeReading();  // a second later
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(GpuReader(stranger, kWatch).Reads()) << i;
  expect_refused();
}

TEST_F(OpenReadersTest, NamespacesOfOtherReadersLeaveRoomForThoseOfAggregators) {
  StartWithAggregator();
  const auto subscription = [](const std::string& name) {
    Subscription wanted;
    wanted.add_namespaces(name);
    return wanted;
  };
  std::vector<std::unique_ptr<GpuReader>> strangers;
  for (int i = 0; i < kMaxNamespaceSets; ++i) {
    strangers.push_back(std::make_unique<GpuReader>(From(kStranger), kWatch,
                                                    subscription(absl::StrCat("invented-", i))));
    EXPECT_TRUE(strangers.back()->Reads()) << i;
  }
  const absl::Status end = GpuReader(From(kAttacker), kWatch, subscription("another")).End();
  EXPECT_EQ(end.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(end.message()), HasSubstr("8 different sets of namespaces"));
  GpuReader aggregator(From(kAggregator), kWatch, subscription("team-a"));
  EXPECT_TRUE(aggregator.ReadsUntil(TakeReading()));
}

// Refused readers may stay open in any number, if they do not read their status.
TEST(OpenReaders, RefusedReadersDoNotSlowNewOnes) {
  struct Stream : ServerCall::Handler {
    explicit Stream(int& looked_at) : looked_at(looked_at) {}
    const std::string& peer() const {
      ++looked_at;
      return address;
    }
    bool has_certificate() const { return false; }
    void End(const absl::Status&) {}
    void EndNow(const absl::Status&) {}
    void OnMessage(std::string) override {}

    int& looked_at;
    const std::string address = kAttacker;
  };
  FakeClock clock;
  OpenReaders<Stream> readers(clock, 2, nullptr);
  int looked_at = 0, by_first = 0;
  std::vector<std::shared_ptr<Stream>> streams;
  for (int i = 0; i < 1000; ++i) {
    clock.Advance(absl::Seconds(1));
    looked_at = 0;
    streams.push_back(readers.Open(std::make_shared<Stream>(looked_at)));
    if (i == 2) by_first = looked_at;
  }
  EXPECT_GT(by_first, 0);
  EXPECT_EQ(looked_at, by_first) << "the 998th refusal costs as much as the first";
  EXPECT_THAT(readers.Readers(), testing::ElementsAre(testing::AnyOf(streams[0], streams[1]),
                                                      testing::AnyOf(streams[0], streams[1])));
  EXPECT_EQ(readers.counts().readers, 2);
  readers.Stop();
  for (const auto& stream : streams) readers.Closed(stream.get());
  readers.Wait();
}

// The reader's flow control window is closed: its message would stay in memory.
TEST_F(OpenReadersTest, ReaderThatDoesNotReadLosesItsPlaceAtOnce) {
  StartWithAggregator();
  const auto others = OpenFromEach(kPlaces - 1);
  RawClient still(server_->port(), kAttacker);
  still.Begin(BigEndian(4, 2) + BigEndian(0, 4));  // INITIAL_WINDOW_SIZE
  still.Send(CallHead(1, kWatch) + DataFrame(1, ""));
  EXPECT_TRUE(still.Read(FrameType::kHeaders).has_value());
  GpuReader aggregator(From(kAggregator), kWatch);
  EXPECT_TRUE(aggregator.Reads());
  EXPECT_TRUE(still.Read(FrameType::kReset).has_value());
}

}  // namespace
}  // namespace gpuscaler
