#include "wire/health_service.h"

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "gmock/gmock.h"
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
    channel_ = TestChannel(server_->port());
  }

  std::unique_ptr<HealthCall> Begin(const std::string& method, const std::string& service) {
    auto call = std::make_unique<HealthCall>(channel_, "/grpc.health.v1.Health/" + method);
    HealthCheckRequest request;
    request.set_service(service);
    call->Write(request);
    call->WritesDone();
    return call;
  }

  // -1: the call has ended.
  static int Next(HealthCall& call) {
    HealthCheckResponse response;
    return call.Read(response) ? response.status() : -1;
  }

  HealthService health_;  // outlives the server
  std::unique_ptr<WireServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(HealthServiceTest, ChecksServices) {
  EXPECT_EQ(Next(*Begin("Check", "")), HealthCheckResponse::SERVING);
  EXPECT_EQ(Begin("Check", "a")->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
  health_.SetServing("a", false);
  EXPECT_EQ(Next(*Begin("Check", "a")), HealthCheckResponse::NOT_SERVING);
  health_.SetServing("a", true);
  EXPECT_EQ(Next(*Begin("Check", "a")), HealthCheckResponse::SERVING);
  health_.Shutdown();
  health_.SetServing("a", true);
  EXPECT_EQ(Next(*Begin("Check", "a")), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Next(*Begin("Check", "")), HealthCheckResponse::NOT_SERVING);
}

TEST_F(HealthServiceTest, WatchesChangesOfItsServiceUntilTheShutdown) {
  const auto watch = Begin("Watch", "a");
  EXPECT_EQ(Next(*watch), HealthCheckResponse::SERVICE_UNKNOWN);
  health_.SetServing("other", true);
  health_.SetServing("a", true);
  EXPECT_EQ(Next(*watch), HealthCheckResponse::SERVING);
  health_.SetServing("a", true);  // no change
  health_.SetServing("a", false);
  EXPECT_EQ(Next(*watch), HealthCheckResponse::NOT_SERVING);
  health_.Shutdown();
  EXPECT_EQ(Next(*watch), HealthCheckResponse::NOT_SERVING);
  EXPECT_TRUE(watch->Finish().ok()) << watch->Finish().error_message();

  const auto late = Begin("Watch", "a");
  EXPECT_EQ(Next(*late), HealthCheckResponse::NOT_SERVING);
  EXPECT_TRUE(late->Finish().ok()) << late->Finish().error_message();
}

TEST_F(HealthServiceTest, RefusesLongNames) {
  EXPECT_EQ(Begin("Watch", std::string(257, 'x'))->Finish().error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(HealthServiceTest, SurvivesWatchesThatEndWhileStatusesChange) {
  std::thread changes([this] {
    for (int i = 0; i < 2000; ++i) health_.SetServing("a", i % 2 == 0);
  });
  for (int i = 0; i < 50; ++i) {
    const auto watch = Begin("Watch", "a");
    EXPECT_NE(Next(*watch), -1);
    watch->Cancel();
  }
  changes.join();
  const auto last = Begin("Watch", "a");
  EXPECT_EQ(Next(*last), HealthCheckResponse::NOT_SERVING);
  server_ = nullptr;
  health_.SetServing("a", true);  // no call is left
  EXPECT_EQ(Next(*last), -1);
}

}  // namespace
}  // namespace gpuscaler
