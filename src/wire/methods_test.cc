#include "wire/methods.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
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
        {Unary<HealthCheckRequest>("/test.Test/Unary", [](const std::shared_ptr<ServerCall>& call,
                                                          const HealthCheckRequest& got) {
          if (got.service() != "known") return call->Finish(absl::NotFoundError(got.service()));
          HealthCheckResponse response;
          response.set_status(HealthCheckResponse::SERVING);
          Reply(*call, response);
        })});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = TestChannel(server_->port());
  }

  std::unique_ptr<WireServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

HealthCheckRequest RequestOf(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return request;
}

TEST_F(MethodsTest, AnswersWithAMessageOrAStatus) {
  TestCall<HealthCheckRequest, HealthCheckResponse> good(channel_, "/test.Test/Unary");
  good.Write(RequestOf("known"));
  good.WritesDone();
  HealthCheckResponse response;
  ASSERT_TRUE(good.Read(response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  EXPECT_TRUE(good.Finish().ok()) << good.Finish().error_message();

  TestCall<HealthCheckRequest, HealthCheckResponse> bad(channel_, "/test.Test/Unary");
  bad.Write(RequestOf("other"));
  bad.WritesDone();
  EXPECT_EQ(bad.Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(MethodsTest, TakesOneMessageThatCanBeRead) {
  // Field 1 is a string; this one is cut short.
  grpc::Slice slice(std::string("\x0a\x05x", 3));
  const std::vector<grpc::ByteBuffer> unreadable = {grpc::ByteBuffer(&slice, 1)};
  slice = grpc::Slice(std::string("\x0a\x05known", 7));
  const grpc::ByteBuffer known(&slice, 1);
  for (const auto& [name, messages] :
       std::vector<std::pair<std::string, std::vector<grpc::ByteBuffer>>>{
           {"unreadable", unreadable}, {"none", {}}, {"two", {known, known}}}) {
    TestCall<grpc::ByteBuffer, grpc::ByteBuffer> call(channel_, "/test.Test/Unary");
    for (const grpc::ByteBuffer& message : messages) call.Write(message);
    call.WritesDone();
    const grpc::Status status = call.Finish();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL)
        << name << ": " << status.error_message();
  }
}

}  // namespace
}  // namespace gpuscaler
