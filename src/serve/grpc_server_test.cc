#include "serve/grpc_server.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "health.pb.h"
#include "reflection_v1alpha.pb.h"
#include "serve/test_scaler_client.h"
#include "serve/test_served_scaler.h"
#include "wire/client_tls.h"
#include "wire/limits.h"
#include "wire/test_certificates.h"
#include "wire/test_frames.h"

namespace gpuscaler {
namespace {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

absl::Status RequestSpec(TestScalerClient& client) {
  return client.GetMetricSpec(RefOf({})).status();
}

HealthCheckResponse::ServingStatus Serving(ServedScaler& scaler, const std::string& service) {
  HealthCheckRequest request;
  request.set_service(service);
  const auto reply = scaler.client.channel().Call<HealthCheckResponse>(
      "/grpc.health.v1.Health/Check", request, {.timeout = absl::Seconds(10)});
  EXPECT_TRUE(reply.ok()) << reply.status();
  return reply.ok() ? reply->status() : HealthCheckResponse::UNKNOWN;
}

TEST(GrpcServer, TakenPortIsNamed) {
  ServedScaler scaler;
  const int port = scaler.server->port();
  const auto second =
      GrpcServer::Start({.bind_address = "127.0.0.1", .port = port}, {}, scaler.service->methods());
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(absl::StrCat("127.0.0.1:", port)));
}

TEST(GrpcServer, ErrorHasTheAddressThatCannotBeBound) {
  ServedScaler scaler;
  const auto second = GrpcServer::Start({.bind_address = "192.0.2.1"}, {}, {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("192.0.2.1"));
}

TEST(GrpcServer, ServesIpv6) {
  ServedScaler scaler({}, "", {.bind_address = "::1"});
  EXPECT_TRUE(absl::StartsWith(scaler.address, "[::1]:"));
  EXPECT_TRUE(RequestSpec(scaler.client).ok());
}

TEST(GrpcServer, HealthOfTheServerDoesNotFollowTheGpus) {
  ServedScaler scaler;
  const std::string ours = "externalscaler.ExternalScaler";
  EXPECT_EQ(Serving(scaler, ""), HealthCheckResponse::SERVING);
  EXPECT_EQ(Serving(scaler, ours), HealthCheckResponse::NOT_SERVING) << "before the first reading";
  scaler.server->SetScalerServing(true);
  EXPECT_EQ(Serving(scaler, ours), HealthCheckResponse::SERVING);
  scaler.server->SetScalerServing(false);
  EXPECT_EQ(Serving(scaler, ours), HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(Serving(scaler, ""), HealthCheckResponse::SERVING);
}

TEST(GrpcServer, ReflectionListsItsServices) {
  ServedScaler scaler;
  TestCall<ServerReflectionRequest, ServerReflectionResponse> reflection(
      scaler.client.channel(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo");
  ServerReflectionRequest request;
  request.set_list_services("");
  reflection.Send(request);
  const auto responses = reflection.WaitForMessages(1);
  ASSERT_EQ(responses.size(), 1);
  std::vector<std::string> names;
  for (const auto& service : responses[0].list_services_response().service()) {
    names.push_back(service.name());
  }
  EXPECT_THAT(names, IsSupersetOf({"externalscaler.ExternalScaler", "gpuscaler.v1.Explainer",
                                   "grpc.health.v1.Health"}));
}

TEST(GrpcServer, NoClientIsServedAfterDrain) {
  ServedScaler scaler;
  ASSERT_TRUE(RequestSpec(scaler.client).ok());
  scaler.Stop();
  EXPECT_EQ(RequestSpec(scaler.client).code(), absl::StatusCode::kUnavailable);
}

TEST(GrpcServer, HasAsManyConnectionsAsItsOptionsAllow) {
  ServedScaler scaler(ScalerServiceOptions(), "", {.bind_address = "127.0.0.1", .connections = 1});
  EXPECT_TRUE(RequestSpec(scaler.client).ok());
  TestScalerClient second({.address = scaler.address});
  EXPECT_EQ(RequestSpec(second).code(), absl::StatusCode::kUnavailable);
}

TEST(GrpcServer, HugeMessageIsRefusedAndTheNextOneAnswered) {
  ServedScaler scaler;
  const auto huge = RefOf({{"x", std::string(3 << 20, 'x')}});
  EXPECT_EQ(scaler.client.GetMetricSpec(huge).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(RequestSpec(scaler.client).ok());
}

TEST(GrpcServer, HugeHeadersAreRefusedAndTheNextCallAnswered) {
  ServedScaler scaler;
  ASSERT_TRUE(RequestSpec(scaler.client).ok());
  TestScalerClient other_client(
      {.address = scaler.address},
      {.timeout = absl::Seconds(10), .metadata = {{"x-huge", std::string(60'000, 'x')}}});
  EXPECT_EQ(RequestSpec(other_client).code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(scaler.server->counts().limits[static_cast<size_t>(Limit::kHeaderList)], 1);
  const absl::Status status = RequestSpec(scaler.client);
  EXPECT_TRUE(status.ok()) << status;
}

TEST(GrpcServer, MalformedMessageIsRefusedAndTheNextOneAnswered) {
  ServedScaler scaler;
  for (const std::string& bytes : {std::string("\x0a\x02\xff\xfe"), std::string("\x0a\x7f\x00", 3),
                                   std::string("\xff\xff\xff\xff")}) {
    const UnaryAnswer answer = scaler.client.channel().CallRaw(
        "/externalscaler.ExternalScaler/GetMetricSpec", bytes, {.timeout = absl::Seconds(10)});
    EXPECT_EQ(answer.end.status.code(), absl::StatusCode::kInternal) << answer.end.status;
  }
  EXPECT_TRUE(RequestSpec(scaler.client).ok());
}

class GrpcServerTls : public testing::Test {
 protected:
  void Serve(const TestCertificate& pair, const std::string& client_ca = "") {
    scaler_ = std::make_unique<ServedScaler>(
        ScalerServiceOptions(), "", WireServerOptions{.bind_address = "127.0.0.1"}, SignalAccess(),
        WriteTls(folder_.path(), pair, client_ca));
  }

  // Uses a new connection.
  absl::Status RequestSpecWith(const std::string& ca, const TestCertificate& pair = {}) {
    TestScalerClient client({.address = scaler_->address, .tls = [&] {
                               return ClientTls({.cert = pair.cert, .key = pair.key, .ca = ca});
                             }});
    return RequestSpec(client);
  }

  const TestCa ca_{"ours"};
  const TestCa other_ca_{"theirs"};
  const TestFolder folder_;
  std::unique_ptr<ServedScaler> scaler_;
};

TEST_F(GrpcServerTls, ClientsVerifyItsCertificate) {
  Serve(ca_.Issue("server"));
  const absl::Status status = RequestSpecWith(ca_.pem());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(RequestSpecWith(other_ca_.pem()).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(RequestSpec(scaler_->client).code(), absl::StatusCode::kUnavailable) << "plain text";
}

TEST_F(GrpcServerTls, WithAClientCaOnlyItsClientsAreServed) {
  Serve(ca_.Issue("server"), ca_.pem());
  const absl::Status known = RequestSpecWith(ca_.pem(), ca_.Issue("keda"));
  EXPECT_TRUE(known.ok()) << known;
  EXPECT_FALSE(RequestSpecWith(ca_.pem()).ok()) << "no certificate";
  EXPECT_FALSE(RequestSpecWith(ca_.pem(), other_ca_.Issue("keda")).ok()) << "another CA's";
}

TEST_F(GrpcServerTls, NewPairIsShownToNewConnections) {
  Serve(ca_.Issue("server"));
  ASSERT_TRUE(RequestSpecWith(ca_.pem()).ok());
  WriteTls(folder_.path(), other_ca_.Issue("server"), "");
  EXPECT_FALSE(RequestSpecWith(other_ca_.pem()).ok()) << "not reloaded yet";
  ASSERT_TRUE(scaler_->server->ReloadTls().ok());
  EXPECT_FALSE(RequestSpecWith(other_ca_.pem()).ok()) << "read once";
  ASSERT_TRUE(scaler_->server->ReloadTls().ok());
  const absl::Status status = RequestSpecWith(other_ca_.pem());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_FALSE(RequestSpecWith(ca_.pem()).ok());
}

TEST_F(GrpcServerTls, ClientCaThatIsCutForOneReadRefusesNoClient) {
  const TestCertificate pair = ca_.Issue("server");
  const std::string bundle = other_ca_.pem() + ca_.pem();
  Serve(pair, bundle);
  for (const std::string& text : {bundle, other_ca_.pem(), bundle}) {
    WriteTls(folder_.path(), pair, text);
    const absl::Status reloaded = scaler_->server->ReloadTls();
    ASSERT_TRUE(reloaded.ok()) << reloaded;
    const absl::Status status = RequestSpecWith(ca_.pem(), ca_.Issue("keda"));
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_F(GrpcServerTls, BadPairKeepsTheLastGoodOne) {
  Serve(ca_.Issue("server"));
  TestCertificate torn = ca_.Issue("server");
  torn.key = ca_.Issue("server").key;
  WriteTls(folder_.path(), torn, "");
  const absl::Status reloaded = scaler_->server->ReloadTls();
  EXPECT_EQ(reloaded.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(reloaded.message()), AllOf(HasSubstr("key.pem"), HasSubstr("cert.pem")));
  const absl::Status status = RequestSpecWith(ca_.pem());
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(GrpcServerTls, BadPairAtStartIsInvalid) {
  const auto server = GrpcServer::Start(
      {.bind_address = "127.0.0.1"},
      {.cert = folder_.PathOf("none.pem"), .key = folder_.PathOf("none.key")}, {});
  EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(server.status().message()), HasSubstr("none.pem"));
}

// Deadlines of KEDA's calls may pass together.
TEST(GrpcServer, AllowsAsManyResetsAsAPeerMayHaveStreams) {
  constexpr uint32_t kStreams = 100'000;
  ServedScaler scaler({}, "", {.bind_address = "127.0.0.1", .session = ScalerLimits(kStreams)});
  RawClient client(scaler.server->port());
  client.Begin();
  std::string calls;
  for (uint32_t stream = 1; stream < 2 * kStreams; stream += 2) {
    calls += CallHead(stream, "/externalscaler.ExternalScaler/IsActive") + ResetFrame(stream);
  }
  client.SetTimeout(SO_RCVTIMEO, absl::Minutes(1));
  client.Send(calls + Encode({FrameType::kPing, 0, 0, std::string(8, 'x')}));
  EXPECT_TRUE(client.Read(FrameType::kPing).has_value()) << "the connection is still there";
  EXPECT_EQ(scaler.server->counts().limits[static_cast<size_t>(Limit::kResets)], 0);
}

}  // namespace
}  // namespace gpuscaler
