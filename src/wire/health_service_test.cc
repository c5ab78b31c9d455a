#include "wire/health_service.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "wire/test_call.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using HealthCall = TestCall<HealthCheckRequest, HealthCheckResponse>;

class HealthServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    WireServerOptions options;
    options.bind_address = "127.0.0.1";
    auto server = WireServer::Start(std::move(options), health_.methods());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = std::make_unique<Channel>(
        loop_, Target{.address = absl::StrCat("127.0.0.1:", server_->port())});
  }

  std::unique_ptr<HealthCall> Begin(const std::string& method, const std::string& service) {
    auto call = std::make_unique<HealthCall>(*channel_, "/grpc.health.v1.Health/" + method);
    HealthCheckRequest request;
    request.set_service(service);
    call->Send(request);
    return call;
  }

  // `nth` counts from 1. -1: the call has ended.
  static int Status(HealthCall& call, size_t nth) {
    const auto messages = call.WaitForMessages(nth);
    return messages.size() < nth ? -1 : messages[nth - 1].status();
  }
  static absl::StatusCode EndOf(HealthCall& call) {
    return call.WaitForEnd().value_or(absl::UnknownError("the call has not ended")).code();
  }

  HealthService health_;  // outlives the server
  std::unique_ptr<WireServer> server_;
  EventLoop loop_;
  std::unique_ptr<Channel> channel_;
};

TEST_F(HealthServiceTest, ChecksServices) {
  const auto check = [this](const std::string& service) {
    return Status(*Begin("Check", service), 1);
  };
  EXPECT_EQ(check(""), HealthCheckResponse::SERVING);
  EXPECT_EQ(EndOf(*Begin("Check", "a")), absl::StatusCode::kNotFound);
  health_.SetServing("a", false);
  EXPECT_EQ(check("a"), HealthCheckResponse::NOT_SERVING);
  health_.SetServing("a", true);
  EXPECT_EQ(check("a"), HealthCheckResponse::SERVING);
  health_.Shutdown();
  health_.SetServing("a", true);
  EXPECT_EQ(check("a"), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(check(""), HealthCheckResponse::NOT_SERVING);
}

TEST_F(HealthServiceTest, WatchesChangesOfItsServiceUntilTheShutdown) {
  const auto watch = Begin("Watch", "a");
  EXPECT_EQ(Status(*watch, 1), HealthCheckResponse::SERVICE_UNKNOWN);
  health_.SetServing("other", true);
  health_.SetServing("a", true);
  EXPECT_EQ(Status(*watch, 2), HealthCheckResponse::SERVING);
  health_.SetServing("a", true);  // no change
  health_.SetServing("a", false);
  EXPECT_EQ(Status(*watch, 3), HealthCheckResponse::NOT_SERVING);
  health_.Shutdown();
  EXPECT_EQ(Status(*watch, 4), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(watch->WaitForEnd(), absl::OkStatus());
  EXPECT_EQ(watch->messages().size(), 4);

  const auto late = Begin("Watch", "a");
  EXPECT_EQ(Status(*late, 1), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(late->WaitForEnd(), absl::OkStatus());
}

TEST_F(HealthServiceTest, RefusesLongNames) {
  EXPECT_EQ(EndOf(*Begin("Watch", std::string(257, 'x'))), absl::StatusCode::kInvalidArgument);
}

TEST_F(HealthServiceTest, SurvivesWatchesThatEndWhileStatusesChange) {
  std::thread changes([this] {
    for (int i = 0; i < 2000; ++i) health_.SetServing("a", i % 2 == 0);
  });
  for (int i = 0; i < 50; ++i) {
    const auto watch = Begin("Watch", "a");
    EXPECT_NE(Status(*watch, 1), -1);
    watch->Cancel();
  }
  changes.join();
  const auto last = Begin("Watch", "a");
  EXPECT_EQ(Status(*last, 1), HealthCheckResponse::NOT_SERVING);
  server_ = nullptr;
  health_.SetServing("a", true);  // no call is left
  EXPECT_EQ(Status(*last, 2), -1);
  EXPECT_TRUE(last->HasEnded());
}

}  // namespace
}  // namespace gpuscaler
