// Debian's gRPC as the client: it understands each kind of answer.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/test_eventually.h"
#include "base/test_folder.h"
#include "gtest/gtest.h"
#include "health.pb.h"
#include "reflection_v1.pb.h"
#include "wire/health_service.h"
#include "wire/methods.h"
#include "wire/reflection_service.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

// A call, step by step. All functions block.
template <typename Request, typename Response>
class GrpcCall {
 public:
  GrpcCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
           absl::Duration timeout = absl::Seconds(10)) {
    context_.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMilliseconds(timeout));
    call_ = grpc::TemplatedGenericStub<Request, Response>(channel).PrepareCall(&context_, method,
                                                                               &queue_);
    call_->StartCall(nullptr);
    Next();
  }
  ~GrpcCall() {
    Finish();
    queue_.Shutdown();
    Next();
  }
  GrpcCall(const GrpcCall&) = delete;
  GrpcCall& operator=(const GrpcCall&) = delete;

  bool Write(const Request& request) {
    call_->Write(request, nullptr);
    return Next();
  }
  void WritesDone() {
    call_->WritesDone(nullptr);
    Next();
  }
  // False: the call has ended.
  bool Read(Response& response) {
    call_->Read(&response, nullptr);
    return Next();
  }
  void Cancel() { context_.TryCancel(); }

  // Drops the answers that are not read yet.
  grpc::Status Finish() {
    if (is_finished_) return status_;
    for (Response response; Read(response);) {
    }
    call_->Finish(&status_, nullptr);
    Next();
    is_finished_ = true;
    return status_;
  }

 private:
  bool Next() {
    void* tag = nullptr;
    bool is_ok = false;
    return queue_.Next(&tag, &is_ok) && is_ok;
  }

  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<Request, Response>> call_;
  grpc::Status status_;
  bool is_finished_ = false;
};

using GrpcHealthCall = GrpcCall<HealthCheckRequest, HealthCheckResponse>;
using GrpcReflectionCall = GrpcCall<ServerReflectionRequest, ServerReflectionResponse>;
// Its answers are the requests.
using EchoCall = GrpcCall<HealthCheckRequest, HealthCheckRequest>;

HealthCheckRequest HealthRequestOf(const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  return request;
}

class GrpcClientTest : public testing::Test {
 protected:
  // Answers each message with itself.
  class Echo : public ServerCall::Handler {
   public:
    explicit Echo(std::shared_ptr<ServerCall> call) : call_(std::move(call)) {}
    void OnMessage(std::string bytes) override { call_->Write(bytes); }
    void OnLastMessage() override { call_->Finish(absl::OkStatus()); }

   private:
    const std::shared_ptr<ServerCall> call_;
  };
  // Never answers.
  class Hang : public ServerCall::Handler {
   public:
    explicit Hang(GrpcClientTest& test) : test_(test) {}
    void OnMessage(std::string) override {
      ++test_.hanging_;
      test_.has_message_ = true;
    }
    void OnEnd() override { --test_.hanging_; }

   private:
    GrpcClientTest& test_;
  };

  void Start(WireServerOptions options = {}) {
    if (options.bind_address.empty()) options.bind_address = "127.0.0.1";
    const std::string address = options.bind_address;
    Methods methods = {
        {"/test.Test/Echo", [](auto& call) { return std::make_unique<Echo>(call); }},
        {"/test.Test/Hang", [this](auto&) { return std::make_unique<Hang>(*this); }},
        Unary<HealthCheckRequest>("/test.Test/Fail", [](const std::shared_ptr<ServerCall>& call,
                                                        const HealthCheckRequest& request) {
          call->Finish(absl::NotFoundError(request.service()));
        })};
    methods.merge(health_.methods());
    methods.merge(reflection_.methods());
    auto server = WireServer::Start(std::move(options), std::move(methods));
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(
        server_->port() == 0 ? address : absl::StrCat(address, ":", server_->port()),
        grpc::InsecureChannelCredentials(), arguments);
  }

  grpc::Status EndOf(const std::string& method, const std::string& message,
                     absl::Duration timeout = absl::Seconds(10)) {
    EchoCall call(channel_, method, timeout);
    call.Write(HealthRequestOf(message));
    call.WritesDone();
    return call.Finish();
  }

  void WaitUntilHanging(int calls) const {
    for (int i = 0; i < 10'000 && hanging_ != calls; ++i) absl::SleepFor(absl::Milliseconds(1));
    ASSERT_EQ(hanging_, calls);
  }

  HealthService health_;  // outlive the server
  ReflectionService reflection_{{"test.A", "test.B"}};
  std::atomic<int> hanging_ = 0;
  std::atomic<bool> has_message_ = false;
  std::unique_ptr<WireServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(GrpcClientTest, ReadsAnswersAndStreams) {
  Start();
  EXPECT_TRUE(EndOf("/test.Test/Echo", "hello").ok());
  EchoCall call(channel_, "/test.Test/Echo");
  // The second is more than a window.
  for (const std::string& text : {std::string(), std::string(1'900'000, 'x'), std::string("b")}) {
    HealthCheckRequest answer;
    ASSERT_TRUE(call.Write(HealthRequestOf(text)));
    ASSERT_TRUE(call.Read(answer));
    EXPECT_EQ(answer.service(), text);
  }
  call.WritesDone();
  EXPECT_TRUE(call.Finish().ok()) << call.Finish().error_message();
}

TEST_F(GrpcClientTest, ReadsErrorsAndTheirText) {
  Start();
  const grpc::Status failed = EndOf("/test.Test/Fail", "no GPU: 100 %\n\xC3\xA4");
  EXPECT_EQ(failed.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(failed.error_message(), "no GPU: 100 %\n\xC3\xA4");
  const grpc::Status unknown = EndOf("/test.Test/Nothing", "x");
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(unknown.error_message(), "there is no method /test.Test/Nothing");
  EXPECT_EQ(EndOf("/test.Test/Echo", std::string(3 << 20, 'x')).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(GrpcClientTest, ReadsTheRefusalOfLargeHeaders) {
  WireServerOptions options;
  options.session.header_list_bytes = 200;
  Start(std::move(options));
  const grpc::Status status = EndOf("/test.Test/Echo", "x");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << status.error_message();
}

TEST_F(GrpcClientTest, CallsEndAtTheirDeadlineAndWhenCancelled) {
  Start();
  EXPECT_EQ(EndOf("/test.Test/Hang", "x", absl::Milliseconds(100)).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  WaitUntilHanging(0);
  EchoCall call(channel_, "/test.Test/Hang");
  call.Write(HealthRequestOf("x"));
  WaitUntilHanging(1);
  call.Cancel();
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::CANCELLED);
  WaitUntilHanging(0);
}

TEST_F(GrpcClientTest, FinishesCallsWhenTheServerDrains) {
  Start();
  EchoCall call(channel_, "/test.Test/Hang", absl::Milliseconds(500));
  call.Write(HealthRequestOf("x"));
  ASSERT_TRUE(Eventually([this] { return has_message_.load(); }));
  server_->Drain(absl::Seconds(30));
  EXPECT_EQ(hanging_, 0);
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED)
      << "it had all of its time: " << call.Finish().error_message();
}

TEST_F(GrpcClientTest, CallsOverAUnixSocket) {
  const TestFolder folder;
  Start({.bind_address = "unix:" + folder.PathOf("s")});
  EXPECT_TRUE(EndOf("/test.Test/Echo", "hello").ok());
  server_ = nullptr;  // before its folder
}

TEST_F(GrpcClientTest, ChecksAndWatchesHealth) {
  Start();
  const auto check = [this](const std::string& service, HealthCheckResponse& response) {
    GrpcHealthCall call(channel_, "/grpc.health.v1.Health/Check");
    call.Write(HealthRequestOf(service));
    call.WritesDone();
    call.Read(response);
    return call.Finish();
  };
  HealthCheckResponse response;
  EXPECT_TRUE(check("", response).ok());
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  EXPECT_EQ(check("a", response).error_code(), grpc::StatusCode::NOT_FOUND);

  GrpcHealthCall watch(channel_, "/grpc.health.v1.Health/Watch");
  watch.Write(HealthRequestOf("a"));
  watch.WritesDone();
  ASSERT_TRUE(watch.Read(response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVICE_UNKNOWN);
  health_.SetServing("a", true);
  ASSERT_TRUE(watch.Read(response));
  EXPECT_EQ(response.status(), HealthCheckResponse::SERVING);
  health_.Shutdown();
  ASSERT_TRUE(watch.Read(response));
  EXPECT_EQ(response.status(), HealthCheckResponse::NOT_SERVING);
  EXPECT_TRUE(watch.Finish().ok()) << watch.Finish().error_message();
}

TEST_F(GrpcClientTest, ReadsDescriptors) {
  Start();
  GrpcReflectionCall call(channel_, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
  ServerReflectionRequest request;
  ServerReflectionResponse response;
  request.set_list_services("*");
  ASSERT_TRUE(call.Write(request));
  ASSERT_TRUE(call.Read(response));
  EXPECT_EQ(response.list_services_response().service_size(), 2) << response.DebugString();
  request.set_file_containing_symbol("grpc.health.v1.Health");
  ASSERT_TRUE(call.Write(request));
  ASSERT_TRUE(call.Read(response));
  EXPECT_EQ(response.file_descriptor_response().file_descriptor_proto_size(), 1)
      << response.DebugString();
  call.WritesDone();
  EXPECT_TRUE(call.Finish().ok()) << call.Finish().error_message();
}

TEST_F(GrpcClientTest, ReadsTheEndOfACallThatRequestsWithoutReading) {
  Start();
  GrpcReflectionCall call(channel_, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo");
  ServerReflectionRequest request;
  request.set_file_containing_symbol("google.protobuf.FieldOptions");
  // The answers are far more than the windows and buffers of both sides hold.
  for (int i = 0; i < 100'000 && call.Write(request); ++i) {
  }
  EXPECT_EQ(call.Finish().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED)
      << call.Finish().error_message();
}

}  // namespace
}  // namespace gpuscaler
