#include "serve/scaler_client.h"

#include <grpcpp/grpcpp.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/test_folder.h"
#include "externalscaler.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/test_certificates.h"

namespace gpuscaler {
namespace {

using externalscaler::GetMetricSpecResponse;
using externalscaler::GetMetricsRequest;
using externalscaler::GetMetricsResponse;
using externalscaler::IsActiveResponse;
using ::testing::HasSubstr;

// What the fake answers, and the last question it got.
struct Talk {
  bool active = false;
  GetMetricSpecResponse specs;
  GetMetricsResponse metrics;
  grpc::Status status;
  externalscaler::ScaledObjectRef last_ref;
  std::string last_metric;
};

class FakeScaler : public externalscaler::ExternalScaler::Service {
 public:
  grpc::Status IsActive(grpc::ServerContext* context, const externalscaler::ScaledObjectRef* ref,
                        IsActiveResponse* reply) override {
    MutexLock lock(mutex_);
    while (ref->name() == "hangs" && !context->IsCancelled()) {
      never_.WaitFor(mutex_, absl::Milliseconds(1));
    }
    talk_.last_ref = *ref;
    reply->set_result(talk_.active);
    return grpc::Status::OK;
  }
  grpc::Status GetMetricSpec(grpc::ServerContext*, const externalscaler::ScaledObjectRef*,
                             GetMetricSpecResponse* reply) override {
    *reply = talk().specs;
    return grpc::Status::OK;
  }
  grpc::Status GetMetrics(grpc::ServerContext*, const GetMetricsRequest* request,
                          GetMetricsResponse* reply) override {
    MutexLock lock(mutex_);
    talk_.last_metric = request->metricname();
    *reply = talk_.metrics;
    return talk_.status;
  }

  Talk talk() {
    MutexLock lock(mutex_);
    return talk_;
  }
  void set_talk(const Talk& talk) {
    MutexLock lock(mutex_);
    talk_ = talk;
  }

 private:
  Mutex mutex_;
  CondVar never_;
  Talk talk_ ABSL_GUARDED_BY(mutex_);
};

class ScalerClientTest : public testing::Test {
 protected:
  void Serve(const std::shared_ptr<grpc::ServerCredentials>& credentials =
                 grpc::InsecureServerCredentials()) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", credentials, &port);
    builder.RegisterService(&scaler_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
    options_.address = absl::StrCat("127.0.0.1:", port);
  }

  std::unique_ptr<ScalerClient> Open() {
    auto client = ScalerClient::Open(options_);
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }

  FakeScaler scaler_;
  std::unique_ptr<grpc::Server> server_;
  ScalerClientOptions options_;
  const TriggerRef trigger_ = {"llm", "default", {{"profile", "vllm-inference"}}};
};

TEST_F(ScalerClientTest, NamesTheTriggerAsKedaDoes) {
  Serve();
  Talk talk;
  talk.active = true;
  scaler_.set_talk(talk);
  const auto active = Open()->IsActive(trigger_);
  ASSERT_TRUE(active.ok()) << active.status();
  EXPECT_TRUE(*active);
  const externalscaler::ScaledObjectRef ref = scaler_.talk().last_ref;
  EXPECT_EQ(ref.name(), "llm");
  EXPECT_EQ(ref.namespace_(), "default");
  EXPECT_EQ(ref.scalermetadata().at("profile"), "vllm-inference");
}

TEST_F(ScalerClientTest, ReadsTheFloatOnlyAboveZero) {
  Serve();
  Talk talk;
  auto* spec = talk.specs.add_metricspecs();
  spec->set_metricname("keda_gpu_metric");
  spec->set_targetsize(80);
  auto* value = talk.metrics.add_metricvalues();
  value->set_metricvalue(3);
  value->set_metricvaluefloat(2.5);
  scaler_.set_talk(talk);
  const auto client = Open();
  const auto got_spec = client->GetMetricSpec(trigger_);
  ASSERT_TRUE(got_spec.ok()) << got_spec.status();
  EXPECT_EQ(got_spec->metric_name, "keda_gpu_metric");
  EXPECT_EQ(got_spec->target, 80) << "no float: the integer counts";
  const auto got_value = client->GetMetrics(trigger_, "keda_gpu_metric");
  ASSERT_TRUE(got_value.ok()) << got_value.status();
  EXPECT_EQ(*got_value, 2.5);
  EXPECT_EQ(scaler_.talk().last_metric, "keda_gpu_metric");
}

TEST_F(ScalerClientTest, AddsUpSeveralValuesAndRefusesNone) {
  Serve();
  const auto client = Open();
  EXPECT_EQ(client->GetMetrics(trigger_, "m").status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(client->GetMetricSpec(trigger_).status().code(), absl::StatusCode::kInternal);
  Talk talk;
  talk.metrics.add_metricvalues()->set_metricvalue(3);
  talk.metrics.add_metricvalues()->set_metricvalue(4);
  scaler_.set_talk(talk);
  const auto value = client->GetMetrics(trigger_, "m");
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, 7);
}

TEST_F(ScalerClientTest, HandsOnTheScalersOwnError) {
  Serve();
  Talk talk;
  talk.status = {grpc::StatusCode::INVALID_ARGUMENT, "profile=\"vlm\": no such profile"};
  scaler_.set_talk(talk);
  EXPECT_EQ(Open()->GetMetrics(trigger_, "m").status(),
            absl::InvalidArgumentError("profile=\"vlm\": no such profile"));
}

TEST_F(ScalerClientTest, DoesNotWaitForAHangingScaler) {
  Serve();
  options_.deadline = absl::Milliseconds(50);
  EXPECT_EQ(Open()->IsActive({"hangs", "default", {}}).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ScalerClientTest, SaysThatAScalerIsNotOurs) {
  Serve();
  EXPECT_EQ(Open()->Explain(trigger_).status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(ScalerClientTest, SaysThatNobodyListens) {
  Serve();
  server_->Shutdown();
  EXPECT_EQ(Open()->IsActive(trigger_).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ScalerClientTest, ProvesItsIdentityAndChecksTheServers) {
  const TestCa ca("test CA");
  const TestPair server = ca.Issue("server");
  grpc::SslServerCredentialsOptions ssl(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  ssl.pem_root_certs = ca.pem();
  ssl.pem_key_cert_pairs = {{server.key, server.cert}};
  Serve(grpc::SslServerCredentials(ssl));
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

TEST_F(ScalerClientTest, NamesAFileThatCannotBeRead) {
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
