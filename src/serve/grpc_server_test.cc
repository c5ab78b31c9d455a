#include "serve/grpc_server.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/test_certificates.h"
#include "serve/raw_stream.h"
#include "serve/served_scaler.h"

namespace gpuscaler {
namespace {

using externalscaler::GetMetricSpecResponse;
using externalscaler::IsActiveResponse;
using grpc::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Channels to one address share a connection otherwise.
std::shared_ptr<grpc::Channel> OwnConnection(
    const std::string& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

// One call, within 30 s.
grpc::Status AskForSpec(externalscaler::ExternalScaler::Stub& stub,
                        const externalscaler::ScaledObjectRef& ref = RefOf({})) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  GetMetricSpecResponse reply;
  return stub.GetMetricSpec(&context, ref, &reply);
}

// The health service's wire format, written out: string service = 1; status = 1, where 1 is
// SERVING and 2 is NOT_SERVING. Debian has no generated code for it.
grpc::Status Health(const std::shared_ptr<grpc::Channel>& channel, const std::string& service,
                    int& serving) {
  std::string question;
  if (!service.empty()) {
    question = absl::StrCat(std::string("\x0a") + static_cast<char>(service.size()), service);
  }
  grpc::Slice slice(question);
  grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer reply;
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  grpc::GenericStub stub(channel);
  const auto call =
      stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", request, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!status.ok()) return status;
  std::vector<grpc::Slice> slices;
  reply.Dump(&slices);
  std::string answer;
  for (const grpc::Slice& part : slices) {
    answer.append(reinterpret_cast<const char*>(part.begin()), part.size());
  }
  serving = answer.size() == 2 && answer[0] == '\x08' ? answer[1] : 0;
  return status;
}
int Serving(ServedScaler& scaler, const std::string& service) {
  int serving = -1;
  const grpc::Status status = Health(scaler.channel, service, serving);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return serving;
}

TEST(GrpcServer, TakenPortIsNamed) {
  ServedScaler scaler;
  const int port = scaler.server->port();
  const auto second =
      GrpcServer::Start({.bind_address = "127.0.0.1", .port = port}, scaler.service->methods());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(absl::StrCat("127.0.0.1:", port)));
}

TEST(GrpcServer, AddressThatIsNotOursIsNamed) {
  ServedScaler scaler;
  const auto second = GrpcServer::Start({.bind_address = "192.0.2.1", .port = 0}, {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("192.0.2.1"));
}

TEST(GrpcServer, ServesIpv6) {
  ServedScaler scaler({}, "", {.bind_address = "::1"});
  EXPECT_TRUE(absl::StartsWith(scaler.address, "[::1]:"));
  EXPECT_TRUE(AskForSpec(*scaler.stub).ok());
}

TEST(GrpcServer, HealthOfTheServerDoesNotFollowTheGpus) {
  ServedScaler scaler;
  constexpr int kServing = 1;
  constexpr int kNotServing = 2;
  const std::string ours = "externalscaler.ExternalScaler";
  EXPECT_EQ(Serving(scaler, ""), kServing);
  EXPECT_EQ(Serving(scaler, ours), kNotServing) << "before the first reading";
  scaler.server->SetScalerServing(true);
  EXPECT_EQ(Serving(scaler, ours), kServing);
  scaler.server->SetScalerServing(false);
  EXPECT_EQ(Serving(scaler, ours), kNotServing);
  EXPECT_EQ(Serving(scaler, ""), kServing);
}

// ServerReflectionRequest{list_services: ""}; the answer holds the names as they are.
TEST(GrpcServer, ReflectionListsItsServices) {
  ServedScaler scaler;
  RawStream reflection(scaler.channel,
                       "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                       std::string("\x3a\x00", 2));
  const auto listed = reflection.Read();
  ASSERT_TRUE(listed);
  EXPECT_THAT(*listed,
              AllOf(HasSubstr("externalscaler.ExternalScaler"), HasSubstr("gpuscaler.v1.Explainer"),
                    HasSubstr("grpc.health.v1.Health")));
}

TEST(GrpcServer, NobodyIsServedOnceItIsDrained) {
  ServedScaler scaler;
  ASSERT_TRUE(AskForSpec(*scaler.stub).ok());
  scaler.Stop();
  EXPECT_EQ(AskForSpec(*scaler.stub).error_code(), StatusCode::UNAVAILABLE);
}

TEST(GrpcServer, HugeMessageIsRefusedAndTheNextOneAnswered) {
  ServedScaler scaler;
  const auto huge = RefOf({{"x", std::string(3 << 20, 'x')}});
  EXPECT_EQ(AskForSpec(*scaler.stub, huge).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(AskForSpec(*scaler.stub).ok());
}

// gRPC may close the connection of who sends them, but nobody else's.
TEST(GrpcServer, HugeHeadersAreRefusedAndTheNeighbourAnswered) {
  ServedScaler scaler;
  const auto stub = externalscaler::ExternalScaler::NewStub(
      OwnConnection(scaler.address, grpc::InsecureChannelCredentials()));
  ASSERT_TRUE(AskForSpec(*scaler.stub).ok());
  grpc::ClientContext context;
  context.AddMetadata("x-huge", std::string(100'000, 'x'));
  GetMetricSpecResponse reply;
  EXPECT_FALSE(stub->GetMetricSpec(&context, RefOf({}), &reply).ok());
  const grpc::Status status = AskForSpec(*scaler.stub);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(GrpcServer, MessageThatIsNotOursIsRefusedAndTheNextOneAnswered) {
  ServedScaler scaler;
  for (const std::string& bytes : {std::string("\x0a\x02\xff\xfe"), std::string("\x0a\x7f\x00", 3),
                                   std::string("\xff\xff\xff\xff")}) {
    grpc::Slice slice(bytes);
    grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer reply;
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    grpc::GenericStub stub(scaler.channel);
    const auto call = stub.PrepareUnaryCall(
        &context, "/externalscaler.ExternalScaler/GetMetricSpec", request, &queue);
    call->StartCall();
    grpc::Status status;
    call->Finish(&reply, &status, nullptr);
    void* tag = nullptr;
    bool ok = false;
    ASSERT_TRUE(queue.Next(&tag, &ok));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL) << status.error_message();
  }
  EXPECT_TRUE(AskForSpec(*scaler.stub).ok());
}

class GrpcServerTls : public testing::Test {
 protected:
  void Serve(const TestPair& pair, const std::string& client_ca = "") {
    scaler_ = std::make_unique<ServedScaler>(
        ScalerServiceOptions(), "",
        GrpcServerOptions{.bind_address = "127.0.0.1",
                          .tls = WriteTls(folder_.path(), pair, client_ca)});
  }

  // On a connection of its own.
  grpc::Status AskWith(const std::string& ca, const TestPair& client = {}) {
    const auto stub = externalscaler::ExternalScaler::NewStub(OwnConnection(
        scaler_->address,
        grpc::SslCredentials(
            {.pem_root_certs = ca, .pem_private_key = client.key, .pem_cert_chain = client.cert})));
    return AskForSpec(*stub);
  }

  const TestCa ca_{"ours"};
  const TestCa other_ca_{"theirs"};
  const TestFolder folder_;
  std::unique_ptr<ServedScaler> scaler_;
};

TEST_F(GrpcServerTls, ClientsKnowItByItsCertificate) {
  Serve(ca_.Issue("server"));
  const grpc::Status status = AskWith(ca_.pem());
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(AskWith(other_ca_.pem()).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(AskForSpec(*scaler_->stub).error_code(), StatusCode::UNAVAILABLE) << "plain text";
}

TEST_F(GrpcServerTls, WithAClientCaOnlyItsClientsAreServed) {
  Serve(ca_.Issue("server"), ca_.pem());
  const grpc::Status known = AskWith(ca_.pem(), ca_.Issue("keda"));
  EXPECT_TRUE(known.ok()) << known.error_message();
  EXPECT_FALSE(AskWith(ca_.pem()).ok()) << "no certificate";
  EXPECT_FALSE(AskWith(ca_.pem(), other_ca_.Issue("keda")).ok()) << "another CA's";
}

TEST_F(GrpcServerTls, NewPairIsShownToNewConnections) {
  Serve(ca_.Issue("server"));
  ASSERT_TRUE(AskWith(ca_.pem()).ok());
  WriteTls(folder_.path(), other_ca_.Issue("server"), "");
  EXPECT_FALSE(AskWith(other_ca_.pem()).ok()) << "not reloaded yet";
  const absl::Status reloaded = scaler_->server->ReloadTls();
  ASSERT_TRUE(reloaded.ok()) << reloaded;
  const grpc::Status status = AskWith(other_ca_.pem());
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(AskWith(ca_.pem()).ok());
}

TEST_F(GrpcServerTls, BadPairKeepsTheLastGoodOne) {
  Serve(ca_.Issue("server"));
  TestPair torn = ca_.Issue("server");
  torn.key = ca_.Issue("server").key;
  WriteTls(folder_.path(), torn, "");
  const absl::Status reloaded = scaler_->server->ReloadTls();
  EXPECT_EQ(reloaded.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(reloaded.message()), AllOf(HasSubstr("key.pem"), HasSubstr("cert.pem")));
  const grpc::Status status = AskWith(ca_.pem());
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(GrpcServerTls, BadPairAtStartIsInvalid) {
  const auto server = GrpcServer::Start(
      {.bind_address = "127.0.0.1",
       .port = 0,
       .tls = {.cert = folder_.PathOf("none.pem"), .key = folder_.PathOf("none.key")}},
      {});
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("none.pem"));
}

}  // namespace
}  // namespace gpuscaler
