#include "serve/scaler_client.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/test_folder.h"
#include "externalscaler.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "wire/methods.h"
#include "wire/test_certificates.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using externalscaler::GetMetricSpecResponse;
using externalscaler::GetMetricsRequest;
using externalscaler::GetMetricsResponse;
using externalscaler::IsActiveResponse;
using ::testing::HasSubstr;

// A scaler's replies, and the last request that it got.
struct Exchange {
  bool active = false;
  GetMetricSpecResponse specs;
  GetMetricsResponse metrics;
  absl::Status status;  // GetMetrics returns it
  externalscaler::ScaledObjectRef last_ref;
  std::string last_metric;
};

// Never answers IsActive of "hangs".
class FakeScaler {
 public:
  Methods methods() {
    return {Unary<externalscaler::ScaledObjectRef>(
                "/externalscaler.ExternalScaler/IsActive",
                [this](const auto& call, const auto& ref) { IsActive(*call, ref); }),
            Unary<externalscaler::ScaledObjectRef>(
                "/externalscaler.ExternalScaler/GetMetricSpec",
                [this](const auto& call, const auto&) { Reply(*call, exchange().specs); }),
            Unary<GetMetricsRequest>(
                "/externalscaler.ExternalScaler/GetMetrics",
                [this](const auto& call, const auto& request) { GetMetrics(*call, request); })};
  }

  Exchange exchange() {
    MutexLock lock(mutex_);
    return exchange_;
  }
  void set_exchange(const Exchange& exchange) {
    MutexLock lock(mutex_);
    exchange_ = exchange;
  }

 private:
  void IsActive(ServerCall& call, const externalscaler::ScaledObjectRef& ref) {
    if (ref.name() == "hangs") return;
    MutexLock lock(mutex_);
    exchange_.last_ref = ref;
    IsActiveResponse reply;
    reply.set_result(exchange_.active);
    Reply(call, reply);
  }
  void GetMetrics(ServerCall& call, const GetMetricsRequest& request) {
    MutexLock lock(mutex_);
    exchange_.last_metric = request.metricname();
    if (!exchange_.status.ok()) return call.Finish(exchange_.status);
    Reply(call, exchange_.metrics);
  }

  Mutex mutex_;
  Exchange exchange_ ABSL_GUARDED_BY(mutex_);
};

class ScalerClientTest : public testing::Test {
 protected:
  void Serve(const std::optional<TlsPems>& tls = std::nullopt) {
    auto server = WireServer::Start({.bind_address = "127.0.0.1", .tls = tls}, scaler_.methods());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    options_.address = absl::StrCat("127.0.0.1:", server_->port());
  }

  std::unique_ptr<ScalerClient> Open() {
    auto client = ScalerClient::Open(options_);
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }

  FakeScaler scaler_;
  std::unique_ptr<WireServer> server_;
  ScalerClientOptions options_;
  const TriggerRef trigger_ = {"llm", "default", {{"profile", "vllm-inference"}}};
};

TEST_F(ScalerClientTest, SendsTheTriggerAsKedaDoes) {
  Serve();
  Exchange exchange;
  exchange.active = true;
  scaler_.set_exchange(exchange);
  const auto active = Open()->IsActive(trigger_);
  ASSERT_TRUE(active.ok()) << active.status();
  EXPECT_TRUE(*active);
  const externalscaler::ScaledObjectRef ref = scaler_.exchange().last_ref;
  EXPECT_EQ(ref.name(), "llm");
  EXPECT_EQ(ref.namespace_(), "default");
  EXPECT_EQ(ref.scalermetadata().at("profile"), "vllm-inference");
}

TEST_F(ScalerClientTest, ReadsTheFloatOnlyAboveZero) {
  Serve();
  Exchange exchange;
  auto* spec = exchange.specs.add_metricspecs();
  spec->set_metricname("keda_gpu_metric");
  spec->set_targetsize(80);
  auto* value = exchange.metrics.add_metricvalues();
  value->set_metricvalue(3);
  value->set_metricvaluefloat(2.5);
  scaler_.set_exchange(exchange);
  const auto client = Open();
  const auto got_spec = client->GetMetricSpec(trigger_);
  ASSERT_TRUE(got_spec.ok()) << got_spec.status();
  EXPECT_EQ(got_spec->metric_name, "keda_gpu_metric");
  EXPECT_EQ(got_spec->target, 80) << "no float: the integer counts";
  const auto got_value = client->GetMetrics(trigger_, "keda_gpu_metric");
  ASSERT_TRUE(got_value.ok()) << got_value.status();
  EXPECT_EQ(*got_value, 2.5);
  EXPECT_EQ(scaler_.exchange().last_metric, "keda_gpu_metric");
}

TEST_F(ScalerClientTest, AddsUpSeveralValuesAndRefusesNone) {
  Serve();
  const auto client = Open();
  EXPECT_EQ(client->GetMetrics(trigger_, "m").status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(client->GetMetricSpec(trigger_).status().code(), absl::StatusCode::kInternal);
  Exchange exchange;
  exchange.metrics.add_metricvalues()->set_metricvalue(3);
  exchange.metrics.add_metricvalues()->set_metricvalue(4);
  scaler_.set_exchange(exchange);
  const auto value = client->GetMetrics(trigger_, "m");
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, 7);
}

TEST_F(ScalerClientTest, ReturnsTheScalersError) {
  Serve();
  Exchange exchange;
  exchange.status = absl::InvalidArgumentError("profile=\"vlm\": no such profile");
  scaler_.set_exchange(exchange);
  EXPECT_EQ(Open()->GetMetrics(trigger_, "m").status(), exchange.status);
}

TEST_F(ScalerClientTest, DoesNotWaitForAHangingScaler) {
  Serve();
  options_.deadline = absl::Milliseconds(50);
  EXPECT_EQ(Open()->IsActive({"hangs", "default", {}}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ScalerClientTest, OtherScalersAreUnimplemented) {
  Serve();
  EXPECT_EQ(Open()->Explain(trigger_).status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(ScalerClientTest, RefusedConnectionIsUnavailable) {
  Serve();
  server_ = nullptr;
  EXPECT_EQ(Open()->IsActive(trigger_).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ScalerClientTest, AuthenticatesItselfAndTheServer) {
  const TestCa ca("test CA");
  const TestCertificate server = ca.Issue("server");
  Serve(TlsPems{.cert = server.cert, .key = server.key, .ca = ca.pem()});
  EXPECT_EQ(Open()->IsActive(trigger_).status().code(), absl::StatusCode::kUnavailable)
      << "plain text";

  const TestFolder folder;
  const TlsFiles files = WriteTls(folder.path(), ca.Issue("client"), ca.pem());
  options_.tls = true;
  options_.ca = files.client_ca;
  EXPECT_EQ(Open()->IsActive(trigger_).status().code(), absl::StatusCode::kUnavailable)
      << "no client certificate";
  options_.cert = files.cert;
  options_.key = files.key;
  const auto active = Open()->IsActive(trigger_);
  EXPECT_TRUE(active.ok()) << active.status();
  options_.server_name = "elsewhere.example";
  EXPECT_EQ(Open()->IsActive(trigger_).status().code(), absl::StatusCode::kUnavailable)
      << "a certificate for another name";
}

TEST_F(ScalerClientTest, ErrorNamesTheUnreadableFile) {
  options_.tls = true;
  options_.ca = "/nowhere/ca.pem";
  const auto client = ScalerClient::Open(options_);
  EXPECT_EQ(client.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(client.status().message(), HasSubstr("/nowhere/ca.pem"));
  options_.ca = "";
  options_.cert = "cert.pem";
  EXPECT_EQ(ScalerClient::Open(options_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gpuscaler
