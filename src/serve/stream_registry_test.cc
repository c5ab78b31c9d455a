#include "serve/stream_registry.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/thread_cpu_time.h"
#include "gtest/gtest.h"
#include "serve/scaler_stream.h"
#include "serve/test_served_scaler.h"
#include "wire/event_loop.h"

namespace gpuscaler {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class EmptyStream : public OpenStream {
 public:
  void Refresh(absl::Time) override {}
  absl::Time NextDue() const override { return absl::InfiniteFuture(); }
  StreamInterest interest() const override { return {}; }
  void End(const absl::Status&) override {}
};

// A fleet in which only the owners in `known` are resolved.
class KnownOwners : public FleetReader {
 public:
  absl::StatusOr<FleetPtr> NodesFor(const PodInterest&) const override { return AllNodes(); }
  absl::StatusOr<FleetPtr> AllNodes() const override {
    return absl::UnavailableError("no readings");
  }
  absl::Status Check() const override { return AllNodes().status(); }
  absl::Time NewestAt() const override { return absl::InfinitePast(); }
  Changes ChangedSince(int64_t) const override { return {}; }
  bool IsOwnerKnown(const PodInterest& wanted) const override {
    return !wanted.or_any_owner ? !wanted.owner.empty() : known.contains(wanted.owner);
  }
  int64_t WaitForGeneration(int64_t, absl::Duration) const override { return 0; }

  std::set<std::string> known;
};

class StreamRegistryTest : public testing::Test {
 protected:
  absl::Status Open(const std::shared_ptr<OpenStream>& stream, size_t bytes,
                    absl::string_view peer = "10.0.0.7") {
    return streams_.Open(Rpc::kStreamIsActive, peer, bytes, stream);
  }
  void Close(const std::shared_ptr<OpenStream>& stream) {
    streams_.Closed(stream.get(), absl::StatusCode::kOk);
  }

  KnownOwners fleets_;
  CountedRequests counted_;
  StreamRegistry streams_{100, fleets_, counted_};
};

class CountedRefreshes : public EmptyStream {
 public:
  void Refresh(absl::Time) override { ++count; }
  absl::Time NextDue() const override { return due; }
  StreamInterest interest() const override { return watches; }
  StreamInterest watches;
  int count = 0;
  absl::Time due = absl::InfiniteFuture();
};

TEST_F(StreamRegistryTest, OnlyStreamsThatWatchWhatHasChangedAreRefreshed) {
  const auto of_a = std::make_shared<CountedRefreshes>();
  const auto of_b = std::make_shared<CountedRefreshes>();
  const auto affects_all = std::make_shared<CountedRefreshes>();
  const auto of_none = std::make_shared<CountedRefreshes>();
  for (const auto& stream : {of_a, of_b, affects_all, of_none}) ASSERT_TRUE(Open(stream, 1).ok());
  streams_.Watch(of_a.get(), {.pods = {.namespaces = {"a", "opened"}}});
  streams_.Watch(of_b.get(), {.pods = {.namespaces = {"b"}}});
  streams_.Watch(affects_all.get(), {.pods = {}, .all_nodes = true});
  streams_.Watch(of_none.get(), {});
  const auto refreshed = [&] {
    return std::vector<int>{of_a->count, of_b->count, affects_all->count, of_none->count};
  };
  const absl::Time now = absl::UnixEpoch();
  streams_.RefreshDue(now);
  EXPECT_EQ(refreshed(), (std::vector{1, 1, 1, 1})) << "each once when it begins";
  streams_.RefreshDue(now);
  EXPECT_EQ(refreshed(), (std::vector{1, 1, 1, 1}));
  streams_.RefreshChanged(
      {.generation = 1, .affects_all = false, .pods = {{"opened", ""}, {"x", ""}}}, now);
  EXPECT_EQ(refreshed(), (std::vector{2, 1, 2, 1}));
  streams_.RefreshChanged({.generation = 2, .affects_all = true, .pods = {{"b", ""}}}, now);
  EXPECT_EQ(refreshed(), (std::vector{3, 2, 3, 1}));
  Close(of_a);
  streams_.RefreshChanged({.generation = 3, .affects_all = true, .pods = {{"a", ""}}}, now);
  EXPECT_EQ(refreshed(), (std::vector{3, 3, 4, 1}));
  for (const auto& stream : {of_b, affects_all, of_none}) Close(stream);
}

TEST_F(StreamRegistryTest, StreamWatchesAllPodsWhileItsOwnersPodsAreUnresolved) {
  const auto of_llm = std::make_shared<CountedRefreshes>();
  const auto like_embed = std::make_shared<CountedRefreshes>();
  for (const auto& stream : {of_llm, like_embed}) ASSERT_TRUE(Open(stream, 1).ok());
  streams_.Watch(of_llm.get(), {.pods = {.namespaces = {"a"}, .owner = "llm"}});
  streams_.Watch(like_embed.get(),
                 {.pods = {.namespaces = {"a"}, .owner = "embed", .or_any_owner = true}});
  const auto refreshed_by = [&](const std::vector<OwnerKey>& pods) {
    const std::vector<int> before = {of_llm->count, like_embed->count};
    streams_.RefreshChanged({.generation = 1, .affects_all = false, .pods = pods},
                            absl::UnixEpoch());
    return std::vector<int>{of_llm->count - before[0], like_embed->count - before[1]};
  };
  EXPECT_EQ(refreshed_by({{"a", ""}, {"a", "chat"}}), (std::vector{0, 1})) << "it is not known";
  EXPECT_EQ(refreshed_by({{"a", ""}, {"a", "llm"}}), (std::vector{1, 1}));
  EXPECT_EQ(refreshed_by({{"a", kUnresolvedOwner}}), (std::vector{1, 1})) << "may be theirs";
  EXPECT_EQ(refreshed_by({{"b", ""}, {"b", "llm"}, {"b", "embed"}}), (std::vector{0, 0}));
  fleets_.known = {"embed"};
  EXPECT_EQ(refreshed_by({{"a", ""}, {"a", "embed"}}), (std::vector{0, 1}));
  EXPECT_EQ(refreshed_by({{"a", ""}, {"a", "chat"}}), (std::vector{0, 0}));
  fleets_.known = {};
  EXPECT_EQ(refreshed_by({{"a", ""}, {"a", "embed"}}), (std::vector{0, 1})) << "it has left";
  EXPECT_EQ(refreshed_by({{"a", ""}, {"a", "chat"}}), (std::vector{0, 1}));
  for (const auto& stream : {of_llm, like_embed}) Close(stream);
}

TEST_F(StreamRegistryTest, NewProfilesMayChangeWhatAStreamWatches) {
  const SignalSource page{.target = MetricsEndpoint{.url = "http://gateway:9090/metrics"}};
  const auto stream = std::make_shared<CountedRefreshes>();
  ASSERT_TRUE(Open(stream, 1).ok());
  const StreamInterest before = {.version = 1, .pods = {.namespaces = {"a"}, .owner = "llm"}};
  streams_.Watch(stream.get(), before);
  const absl::Time now = absl::UnixEpoch();
  const auto is_reported = [&](auto changes) {
    const int count = stream->count;
    streams_.RefreshChanged(changes, now);
    return stream->count > count;
  };
  const FleetReader::Changes of_pods = {
      .generation = 1, .affects_all = false, .pods = {{"a", "llm"}}};
  const std::vector<SignalSource> of_page = {page};
  ASSERT_TRUE(is_reported(of_pods));
  ASSERT_FALSE(is_reported(of_page));
  stream->watches = {.version = 2, .sources = {std::make_shared<const SignalSource>(page)}};
  streams_.RefreshAll(now);
  EXPECT_TRUE(is_reported(of_page));
  EXPECT_FALSE(is_reported(of_pods));
  EXPECT_TRUE(streams_.HasWatchedSources());
  streams_.Watch(stream.get(), before);
  EXPECT_TRUE(is_reported(of_page)) << "the interest of older profiles is ignored";
  stream->watches = {.version = 3, .all_nodes = true};
  streams_.RefreshAll(now);
  EXPECT_FALSE(streams_.HasWatchedSources());
  EXPECT_TRUE(is_reported(of_pods));
  Close(stream);
}

TEST_F(StreamRegistryTest, StreamsOfEqualSourcesOutliveEachOther) {
  const auto first = std::make_shared<CountedRefreshes>();
  const auto second = std::make_shared<CountedRefreshes>();
  const SignalSource page{.namespace_name = "a", .target = MetricsEndpoint{.url = "http://page"}};
  for (const auto& stream : {first, second}) {
    ASSERT_TRUE(Open(stream, 1).ok());
    streams_.Watch(stream.get(), {.sources = {std::make_shared<const SignalSource>(page)}});
  }
  Close(first);
  streams_.RefreshChanged(std::vector<SignalSource>{page}, absl::UnixEpoch());
  EXPECT_EQ(second->count, 1);
  Close(second);
  EXPECT_FALSE(streams_.HasWatchedSources());
}

// A stream with a client that never reads.
class UnreadStream : public ScalerStream {
 public:
  using ScalerStream::ScalerStream;
  StreamInterest interest() const override { return {}; }

 private:
  void Evaluate(absl::Time) override {
    Push(externalscaler::IsActiveResponse());
    End(absl::OkStatus());
  }
  absl::Time Due() const override { return absl::InfinitePast(); }
};

TEST_F(StreamRegistryTest, EndedStreamIsNotDueWhileItsLastWriteIsInFlight) {
  EventLoop loop;
  const auto stream = std::make_shared<UnreadStream>(
      std::make_shared<ServerCall>(CallHeaders{}, loop), absl::InfiniteFuture(), nullptr);
  ASSERT_TRUE(Open(stream, 1).ok());
  streams_.Watch(stream.get(), {});
  EXPECT_EQ(streams_.NextDue(), absl::InfinitePast());
  streams_.RefreshDue(absl::UnixEpoch());
  EXPECT_EQ(streams_.NextDue(), absl::InfiniteFuture());
  Close(stream);
}

TEST_F(StreamRegistryTest, StreamIsRefreshedWhenDueAndNotBefore) {
  const auto stream = std::make_shared<CountedRefreshes>();
  ASSERT_TRUE(Open(stream, 1).ok());
  EXPECT_EQ(streams_.NextDue(), absl::InfiniteFuture());
  streams_.Watch(stream.get(), {});
  const absl::Time now = absl::UnixEpoch();
  stream->due = now + absl::Seconds(5);
  streams_.RefreshDue(now);
  EXPECT_EQ(streams_.NextDue(), now + absl::Seconds(5));
  streams_.RefreshDue(now + absl::Seconds(4));
  EXPECT_EQ(stream->count, 1);
  stream->due = absl::InfiniteFuture();
  streams_.RefreshDue(now + absl::Seconds(5));
  EXPECT_EQ(stream->count, 2);
  EXPECT_EQ(streams_.NextDue(), absl::InfiniteFuture());
  Close(stream);
}

TEST_F(StreamRegistryTest, AddressMayHoldHalfOfTheMetadataThatOthersLeave) {
  std::vector<std::shared_ptr<OpenStream>> streams;
  for (int i = 0; i < 5; ++i) streams.push_back(std::make_shared<EmptyStream>());
  EXPECT_TRUE(Open(streams[0], 31 * kMiB).ok());
  EXPECT_EQ(Open(streams[1], 2 * kMiB).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Open(streams[2], 16 * kMiB, "10.0.0.8").ok());
  EXPECT_EQ(Open(streams[3], 9 * kMiB, "10.0.0.9").code(), absl::StatusCode::kResourceExhausted);
  Close(streams[0]);
  EXPECT_TRUE(Open(streams[4], 24 * kMiB, "10.0.0.9").ok());
  for (const int i : {2, 4}) Close(streams[i]);
}

// The thread completes waiting calls in between.
TEST_F(StreamRegistryTest, ThousandsOfChangedStreamsAreRefreshedAFewAtATime) {
  const absl::Time now = absl::UnixEpoch();
  std::vector<std::shared_ptr<CountedRefreshes>> streams;
  for (int i = 0; i < 99; ++i) {
    streams.push_back(std::make_shared<CountedRefreshes>());
    streams.back()->watches.all_nodes = true;
    ASSERT_TRUE(Open(streams.back(), 1).ok());
    streams_.Watch(streams.back().get(), streams.back()->watches);
  }
  while (streams_.NextDue() <= now) streams_.RefreshDue(now);
  const auto refreshed = [&streams] {
    return std::ranges::count_if(streams, [](const auto& stream) { return stream->count > 1; });
  };
  streams_.RefreshChanged(FleetReader::Changes{.generation = 1, .affects_all = true}, now);
  EXPECT_GT(refreshed(), 0);
  EXPECT_LT(refreshed(), 99);
  EXPECT_EQ(streams_.NextDue(), absl::InfinitePast());
  Close(streams.back());
  streams.pop_back();
  streams_.RefreshChanged(FleetReader::Changes{.generation = 2, .affects_all = true}, now);
  EXPECT_EQ(refreshed(), 98) << "those that changed first are first";
  while (streams_.NextDue() <= now) streams_.RefreshDue(now);
  for (const auto& stream : streams) {
    EXPECT_LE(stream->count, 3);
    Close(stream);
  }
}

TEST_F(StreamRegistryTest, PeersTakeTurns) {
  const absl::Time now = absl::UnixEpoch();
  std::vector<std::shared_ptr<CountedRefreshes>> streams;
  for (int i = 0; i < 100; ++i) {
    streams.push_back(std::make_shared<CountedRefreshes>());
    ASSERT_TRUE(Open(streams.back(), 1, i < 99 ? "10.0.0.7" : "10.0.0.8").ok());
  }
  for (const auto& stream : streams) streams_.Watch(stream.get(), {.all_nodes = true});
  streams_.RefreshDue(now);
  EXPECT_EQ(streams.back()->count, 1) << "it begins";
  while (streams_.NextDue() <= now) streams_.RefreshDue(now);
  streams_.RefreshChanged(FleetReader::Changes{.generation = 1, .affects_all = true}, now);
  EXPECT_EQ(streams.back()->count, 2) << "it has changed";
  EXPECT_EQ(streams_.NextDue(), absl::InfinitePast()) << "others wait";
  for (const auto& stream : streams) Close(stream);
}

class SlowRefreshes : public CountedRefreshes {
 public:
  void Refresh(absl::Time now) override {
    CountedRefreshes::Refresh(now);
    const absl::Duration began = ThreadCpuTime();
    while (ThreadCpuTime() - began < absl::Milliseconds(5)) continue;
  }
};

TEST_F(StreamRegistryTest, PeersGetEqualPartsOfTheCpuTime) {
  const absl::Time now = absl::UnixEpoch();
  std::vector<std::shared_ptr<CountedRefreshes>> streams;
  for (int i = 0; i < 40; ++i) {
    const bool is_slow = i % 2 == 0;
    streams.push_back(is_slow ? std::make_shared<SlowRefreshes>()
                              : std::make_shared<CountedRefreshes>());
    ASSERT_TRUE(Open(streams.back(), 1, is_slow ? "10.0.0.7" : "10.0.0.8").ok());
    streams_.Watch(streams.back().get(), {.all_nodes = true});
  }
  streams_.RefreshDue(now);
  int slow = 0;
  for (size_t i = 0; i < streams.size(); ++i) {
    if (i % 2 == 0)
      slow += streams[i]->count;
    else
      EXPECT_EQ(streams[i]->count, 1);
  }
  EXPECT_GT(slow, 0);
  EXPECT_LT(slow, 10) << "the others wait for the next call";
  for (const auto& stream : streams) Close(stream);
}

}  // namespace
}  // namespace gpuscaler
