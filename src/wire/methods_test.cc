#include "wire/methods.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "health.pb.h"
#include "wire/test_call.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

class MethodsTest : public testing::Test {
 protected:
  void SetUp() override {
    WireServerOptions options;
    options.bind_address = "127.0.0.1";
    auto server = WireServer::Start(
        std::move(options),
        {Unary<HealthCheckRequest>(
            kMethod, [](const std::shared_ptr<ServerCall>& call, const HealthCheckRequest& got) {
              if (got.service() != "known") return call->Finish(absl::NotFoundError(got.service()));
              HealthCheckResponse response;
              response.set_status(HealthCheckResponse::SERVING);
              Reply(*call, response);
            })});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = std::make_unique<Channel>(
        loop_, Target{.address = absl::StrCat("127.0.0.1:", server_->port())});
  }

  static constexpr char kMethod[] = "/test.Test/Unary";
  std::unique_ptr<WireServer> server_;
  EventLoop loop_;
  std::unique_ptr<Channel> channel_;
};

HealthCheckRequest RequestOf(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return request;
}

TEST_F(MethodsTest, AnswersWithAMessageOrAStatus) {
  const auto good = channel_->Call<HealthCheckResponse>(kMethod, RequestOf("known"), {});
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->status(), HealthCheckResponse::SERVING);
  const auto bad = channel_->Call<HealthCheckResponse>(kMethod, RequestOf("other"), {});
  EXPECT_EQ(bad.status(), absl::NotFoundError("other"));
}

TEST_F(MethodsTest, TakesOneMessageThatCanBeRead) {
  // Field 1 is a string; this one is cut short.
  const std::string unreadable("\x0a\x05x", 3);
  const std::string known = RequestOf("known").SerializeAsString();
  for (const auto& [name, messages] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"unreadable", {unreadable}}, {"none", {}}, {"two", {known, known}}}) {
    BytesCall call(*channel_, kMethod);
    for (const std::string& message : messages) call.Write(message);
    call.WritesDone();
    const auto status = call.WaitForEnd();
    ASSERT_TRUE(status.has_value()) << name;
    EXPECT_EQ(status->code(), absl::StatusCode::kInternal) << name << ": " << *status;
  }
}

}  // namespace
}  // namespace gpuscaler
