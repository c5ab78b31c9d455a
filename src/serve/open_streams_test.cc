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
