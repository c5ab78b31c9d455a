// A server with methods, and with the limits that a test sets.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "health.pb.h"
#include "wire/limits.h"
#include "wire/methods.h"
#include "wire/test_call.h"
#include "wire/test_frames.h"
#include "wire/wire_server.h"

namespace gpuscaler {

class LimitedServerTest : public testing::Test {
 protected:
  using HealthCheckRequest = grpc::health::v1::HealthCheckRequest;

  static constexpr char kWait[] = "/test.Test/Wait";
  static constexpr char kEnd[] = "/test.Test/End";
  static constexpr char kAnswer[] = "/test.Test/Answer";
  static constexpr char kRequest[] = "/test.Test/Request";
  static constexpr char kFail[] = "/test.Test/Fail";
  static constexpr char kLarge[] = "/test.Test/Large";
  static inline const std::string kLongText = std::string(2'000, 'x');
  static inline const std::string kNoWindow =
      BigEndian(4, 2) + BigEndian(0, 4);  // INITIAL_WINDOW_SIZE

  // Keeps its call, and answers never.
  class Wait : public ServerCall::Handler {
   public:
    Wait(LimitedServerTest& test, const std::shared_ptr<ServerCall>& call) : test_(test) {
      test.call_ = call;
      ++test.begun_;
    }
    void OnMessage(std::string) override {}
    void OnEnd() override { ++test_.ended_; }

   private:
    LimitedServerTest& test_;
  };
  // Answers at once.
  class AnswerAtOnce : public ServerCall::Handler {
   public:
    explicit AnswerAtOnce(const std::shared_ptr<ServerCall>& call) {
      call->Write(std::string(10, 'x'));
    }
    void OnMessage(std::string) override {}
  };

  void Start(WireServerOptions options = {}) {
    options.bind_address = "127.0.0.1";
    auto server = WireServer::Start(
        std::move(options),
        {{kWait, [this](auto& call) { return std::make_unique<Wait>(*this, call); }},
         {kEnd,
          [this](auto& call) {
            call->FinishNow(absl::ResourceExhaustedError("enough"));
            call->SendHeaders();
            return std::make_unique<Wait>(*this, call);
          }},
         {kAnswer, [](auto& call) { return std::make_unique<AnswerAtOnce>(call); }},
         Unary<HealthCheckRequest>(
             kRequest, [](const std::shared_ptr<ServerCall>& call,
                          const HealthCheckRequest&) { call->Finish(absl::OkStatus()); }),
         Unary<HealthCheckRequest>(
             kFail,
             [](const std::shared_ptr<ServerCall>& call, const HealthCheckRequest&) {
               call->Finish(absl::InternalError(kLongText));
             }),
         Unary<HealthCheckRequest>(
             kLarge, [](const std::shared_ptr<ServerCall>& call, const HealthCheckRequest&) {
               call->Write(std::string(6'000, 'x'));
               call->Finish(absl::OkStatus());
             })});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  template <typename Condition>
  static bool Eventually(const Condition& holds) {
    const absl::Time end = absl::Now() + absl::Seconds(20);
    while (!holds() && absl::Now() < end) absl::SleepFor(absl::Milliseconds(2));
    return holds();
  }

  // Returns true if the server reads the client and answers its PING.
  static bool Answers(RawClient& client) {
    client.Send(Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
    return client.Read(FrameType::kPing).has_value();
  }

  int64_t Count(Limit limit) const { return server_->counts().limits[static_cast<size_t>(limit)]; }

  // Each call has a connection of its own.
  absl::Status Call(const char* method, const std::string& message = "") {
    Channel channel(loop_, {.address = absl::StrCat("127.0.0.1:", server_->port())});
    BytesCall call(channel, method);
    call.Send(message);
    return call.WaitForEnd().value_or(absl::UnknownError("the call has not ended"));
  }

  std::atomic<int> begun_ = 0, ended_ = 0;
  std::shared_ptr<ServerCall> call_;  // the last one that waits
  std::unique_ptr<WireServer> server_;
  EventLoop loop_;
};

}  // namespace gpuscaler
