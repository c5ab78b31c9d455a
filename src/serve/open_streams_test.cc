#include "serve/open_streams.h"

#include <optional>

#include "gtest/gtest.h"
#include "serve/served_scaler.h"

namespace gpuscaler {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

class StreamOfNothing : public OpenStream {
 public:
  void Refresh(absl::Time) override {}
  absl::Time NextDue() const override { return absl::InfiniteFuture(); }
  void End(const absl::Status&) override {}
};

class OpenStreamsTest : public testing::Test {
 protected:
  absl::Status Open(const std::shared_ptr<OpenStream>& stream, size_t bytes) {
    return streams_.Open(Rpc::kStreamIsActive, "ipv4:10.0.0.7:4711", bytes, stream);
  }
  void Close(const std::shared_ptr<OpenStream>& stream) {
    streams_.Closed(stream.get(), absl::StatusCode::kOk);
  }

  CountedRequests counted_;
  OpenStreams streams_{100, counted_};
};

class CountedRefreshes : public StreamOfNothing {
 public:
  void Refresh(absl::Time) override { ++count; }
  absl::Time NextDue() const override { return due; }
  int count = 0;
  absl::Time due = absl::InfiniteFuture();
};

TEST_F(OpenStreamsTest, OnlyStreamsThatWatchWhatHasChangedAreRefreshed) {
  const auto of_a = std::make_shared<CountedRefreshes>();
  const auto of_b = std::make_shared<CountedRefreshes>();
  const auto of_all = std::make_shared<CountedRefreshes>();
  const auto of_none = std::make_shared<CountedRefreshes>();
  for (const auto& stream : {of_a, of_b, of_all, of_none}) ASSERT_TRUE(Open(stream, 1).ok());
  streams_.Watch(of_a.get(), {.namespaces = {"a", "opened"}, .all_nodes = false});
  streams_.Watch(of_b.get(), {.namespaces = {"b"}, .all_nodes = false});
  streams_.Watch(of_all.get(), {.namespaces = {}, .all_nodes = true});
  streams_.Watch(of_none.get(), {});
  const auto refreshed = [&] {
    return std::vector<int>{of_a->count, of_b->count, of_all->count, of_none->count};
  };
  const absl::Time now = absl::UnixEpoch();
  streams_.RefreshDue(now);
  EXPECT_EQ(refreshed(), (std::vector{1, 1, 1, 1})) << "each once when it begins";
  streams_.RefreshDue(now);
  EXPECT_EQ(refreshed(), (std::vector{1, 1, 1, 1}));
  streams_.RefreshChanged({.generation = 1, .of_all = false, .namespaces = {"opened", "x"}}, now);
  EXPECT_EQ(refreshed(), (std::vector{2, 1, 2, 1}));
  streams_.RefreshChanged({.generation = 2, .of_all = true, .namespaces = {"b"}}, now);
  EXPECT_EQ(refreshed(), (std::vector{3, 2, 3, 1}));
  Close(of_a);
  streams_.RefreshChanged({.generation = 3, .of_all = true, .namespaces = {"a"}}, now);
  EXPECT_EQ(refreshed(), (std::vector{3, 3, 4, 1}));
  for (const auto& stream : {of_b, of_all, of_none}) Close(stream);
}

TEST_F(OpenStreamsTest, StreamIsRefreshedWhenItIsDueAndNoSooner) {
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

TEST_F(OpenStreamsTest, MetadataOfAllStreamsTogetherIsBounded) {
  std::vector<std::shared_ptr<OpenStream>> streams;
  for (int i = 0; i < 3; ++i) streams.push_back(std::make_shared<StreamOfNothing>());
  EXPECT_TRUE(Open(streams[0], 40 * kMiB).ok());
  EXPECT_EQ(Open(streams[1], 40 * kMiB).code(), absl::StatusCode::kResourceExhausted);
  Close(streams[1]);
  EXPECT_EQ(Open(streams[1], 40 * kMiB).code(), absl::StatusCode::kResourceExhausted)
      << "one that was refused gives nothing back";
  Close(streams[0]);
  EXPECT_TRUE(Open(streams[2], 64 * kMiB).ok());
  Close(streams[1]);
  Close(streams[2]);
}

}  // namespace
}  // namespace gpuscaler
