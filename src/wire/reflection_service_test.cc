#include "wire/reflection_service.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/text_format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "health.pb.h"
#include "reflection_v1.pb.h"
#include "wire/test_call.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
using testing::ElementsAre;
using ReflectionCall = TestCall<ServerReflectionRequest, ServerReflectionResponse>;

constexpr char kMethod[] = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

// Adds a file as generated code does.
void AddGenerated(const char* text) {
  google::protobuf::FileDescriptorProto file;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &file));
  static std::vector<std::unique_ptr<std::string>> encoded;  // which the pool refers to
  encoded.push_back(std::make_unique<std::string>(file.SerializeAsString()));
  google::protobuf::DescriptorPool::InternalAddGeneratedFile(
      encoded.back()->data(), static_cast<int>(encoded.back()->size()));
}

void AddExtension() {
  AddGenerated(R"(
    name: "reflection_test.proto" package: "reflection_test"
    message_type { name: "Extended" extension_range { start: 100 end: 200 } })");
  AddGenerated(R"(
    name: "reflection_test_extension.proto" package: "reflection_test"
    dependency: "reflection_test.proto"
    extension { name: "more" number: 100 label: LABEL_OPTIONAL type: TYPE_INT32
                extendee: ".reflection_test.Extended" })");
}

class ReflectionServiceTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static const bool is_added = (AddExtension(), true);
    ASSERT_TRUE(is_added);
  }
  void SetUp() override {
    WireServerOptions options;
    options.bind_address = "127.0.0.1";
    auto server = WireServer::Start(std::move(options), reflection_.methods());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = std::make_unique<Channel>(
        loop_, Target{.address = absl::StrCat("127.0.0.1:", server_->port())});
  }

  std::unique_ptr<ReflectionCall> Begin(ReflectionCall::Reads reads = ReflectionCall::Reads::kAll) {
    return std::make_unique<ReflectionCall>(*channel_, kMethod, CallOptions(), reads);
  }

  ServerReflectionResponse Query(const ServerReflectionRequest& request) {
    const auto call = Begin();
    call->Write(request);
    const auto responses = call->WaitForMessages(1);
    EXPECT_FALSE(call->HasEnded());
    call->WritesDone();
    EXPECT_EQ(call->WaitForEnd(), absl::OkStatus());
    EXPECT_EQ(call->messages().size(), 1);
    if (responses.empty()) return {};
    EXPECT_EQ(responses[0].original_request().SerializeAsString(), request.SerializeAsString());
    return responses[0];
  }

  static absl::StatusCode EndOf(ReflectionCall& call) {
    return call.WaitForEnd().value_or(absl::UnknownError("the call has not ended")).code();
  }

  ReflectionService reflection_{{"test.A", "test.B"}};  // outlives the server
  std::unique_ptr<WireServer> server_;
  EventLoop loop_;
  std::unique_ptr<Channel> channel_;
};

ServerReflectionRequest SymbolRequest(const std::string& symbol) {
  ServerReflectionRequest request;
  request.set_file_containing_symbol(symbol);
  return request;
}

std::vector<std::string> FilesOf(const ServerReflectionResponse& response) {
  std::vector<std::string> names;
  for (const std::string& each : response.file_descriptor_response().file_descriptor_proto()) {
    google::protobuf::FileDescriptorProto file;
    EXPECT_TRUE(file.ParseFromString(each));
    names.push_back(file.name());
  }
  return names;
}

TEST_F(ReflectionServiceTest, ListsServices) {
  ServerReflectionRequest request;
  request.set_host("a");
  request.set_list_services("*");
  const ServerReflectionResponse response = Query(request);
  EXPECT_EQ(response.valid_host(), "a");
  ASSERT_EQ(response.list_services_response().service_size(), 2) << response.DebugString();
  EXPECT_EQ(response.list_services_response().service(0).name(), "test.A");
  EXPECT_EQ(response.list_services_response().service(1).name(), "test.B");
}

TEST_F(ReflectionServiceTest, SendsTheFilesOfSymbols) {
  for (const char* symbol :
       {"grpc.health.v1.Health", "grpc.health.v1.Health.Check", "grpc.health.v1.HealthCheckRequest",
        "grpc.health.v1.HealthCheckRequest.service"}) {
    EXPECT_THAT(FilesOf(Query(SymbolRequest(symbol))), ElementsAre("health.proto")) << symbol;
  }
  EXPECT_THAT(FilesOf(Query(SymbolRequest("grpc.reflection.v1alpha.ServerReflection"))),
              ElementsAre("reflection_v1alpha.proto"));
  ServerReflectionRequest request;
  request.set_file_by_filename("health.proto");
  EXPECT_THAT(FilesOf(Query(request)), ElementsAre("health.proto"));
}

TEST_F(ReflectionServiceTest, FindsExtensions) {
  ServerReflectionRequest request;
  request.set_all_extension_numbers_of_type("reflection_test.Extended");
  ServerReflectionResponse response = Query(request);
  EXPECT_EQ(response.all_extension_numbers_response().base_type_name(), "reflection_test.Extended");
  EXPECT_THAT(response.all_extension_numbers_response().extension_number(), ElementsAre(100));
  request.mutable_file_containing_extension()->set_containing_type("reflection_test.Extended");
  request.mutable_file_containing_extension()->set_extension_number(100);
  EXPECT_THAT(FilesOf(Query(request)),
              ElementsAre("reflection_test_extension.proto", "reflection_test.proto"))
      << "with what it imports";
}

TEST_F(ReflectionServiceTest, AnswersNotFound) {
  std::vector<ServerReflectionRequest> requests(4, SymbolRequest("no.such.Symbol"));
  requests[1].set_file_by_filename("no.proto");
  requests[2].set_all_extension_numbers_of_type("no.such.Type");
  requests[3].mutable_file_containing_extension()->set_containing_type("reflection_test.Extended");
  requests[3].mutable_file_containing_extension()->set_extension_number(101);
  for (const ServerReflectionRequest& request : requests) {
    EXPECT_EQ(Query(request).error_response().error_code(),
              static_cast<int>(absl::StatusCode::kNotFound))
        << request.DebugString();
  }
}

TEST_F(ReflectionServiceTest, RefusesInvalidRequests) {
  const auto empty = Begin();
  empty->Write(ServerReflectionRequest());
  EXPECT_EQ(EndOf(*empty), absl::StatusCode::kInvalidArgument);
  const auto too_long = Begin();
  too_long->Write(SymbolRequest(std::string(1025, 'x')));
  EXPECT_EQ(EndOf(*too_long), absl::StatusCode::kInvalidArgument);
}

TEST_F(ReflectionServiceTest, AnswersManyRequestsOfOneCall) {
  const auto call = Begin();
  for (size_t i = 1; i <= 100; ++i) {
    call->Write(SymbolRequest("grpc.health.v1.Health"));
    ASSERT_EQ(call->WaitForMessages(i).size(), i);
  }
  call->WritesDone();
  EXPECT_EQ(call->WaitForEnd(), absl::OkStatus());
}

TEST_F(ReflectionServiceTest, EndsCallsThatRequestWithoutReading) {
  const auto call = Begin(ReflectionCall::Reads::kNever);
  // The answers are far more than the windows and buffers of both sides hold. A call between two
  // requests leaves the server the time to answer each.
  constexpr size_t kRequests = 500;
  for (size_t i = 0; i < kRequests; ++i) {
    call->Write(SymbolRequest("google.protobuf.FieldOptions"));
    Query(SymbolRequest("x"));
  }
  EXPECT_FALSE(call->HasEnded());
  call->StartReading();
  EXPECT_EQ(EndOf(*call), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(call->messages().size(), 0);
  EXPECT_LT(call->messages().size(), kRequests);
}

TEST_F(ReflectionServiceTest, BoundsOpenCallsOfAnAddressAndInAll) {
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<std::unique_ptr<ReflectionCall>> calls;
  const auto begin = [&] { return std::make_unique<ReflectionCall>(*channels.back(), kMethod); };
  const auto is_answered = [](ReflectionCall& call) {
    call.Write(SymbolRequest("x"));
    return call.WaitForMessages(1).size() == 1;
  };
  const auto come_from = [&](const char* address) {
    channels.push_back(std::make_unique<Channel>(
        loop_,
        Target{.address = absl::StrCat("127.0.0.1:", server_->port()), .source_address = address}));
  };
  for (const char* address : {"127.0.3.2", "127.0.3.3", "127.0.3.4", "127.0.3.5"}) {
    come_from(address);
    for (int i = 0; i < 16; ++i) {
      calls.push_back(begin());
      ASSERT_TRUE(is_answered(*calls.back())) << i;
    }
    EXPECT_EQ(EndOf(*begin()), absl::StatusCode::kResourceExhausted);
  }
  come_from("127.0.3.6");
  EXPECT_EQ(EndOf(*begin()), absl::StatusCode::kResourceExhausted) << "all 64 are taken";
  calls.front()->WritesDone();
  EXPECT_EQ(calls.front()->WaitForEnd(), absl::OkStatus());
  calls.push_back(begin());
  EXPECT_TRUE(is_answered(*calls.back()));
  for (const auto& each : calls) each->Cancel();
}

}  // namespace
}  // namespace gpuscaler
