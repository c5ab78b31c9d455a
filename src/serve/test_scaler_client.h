// KEDA's calls to a scaler, with raw messages, for tests.
//
//   TestScalerClient client({.address = "127.0.0.1:6000"});
//   const auto reply = client.GetMetrics(RefOf({{"targetValue", "70"}}));
//   const auto stream = client.StreamIsActive(RefOf({}));
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "explain.pb.h"
#include "externalscaler.pb.h"
#include "wire/channel.h"
#include "wire/test_call.h"

namespace gpuscaler {

inline externalscaler::ScaledObjectRef RefOf(const std::map<std::string, std::string>& metadata) {
  externalscaler::ScaledObjectRef ref;
  ref.set_name("llm");
  ref.set_namespace_("default");
  for (const auto& [key, value] : metadata) (*ref.mutable_scalermetadata())[key] = value;
  return ref;
}

// Has one connection. Outlives its streams. Thread-safe.
class TestScalerClient {
 public:
  using Ref = externalscaler::ScaledObjectRef;
  using IsActiveStream = TestCall<Ref, externalscaler::IsActiveResponse>;
  using MetricSpecStream = TestCall<Ref, externalscaler::GetMetricSpecResponse>;

  // `options` apply to unary calls.
  explicit TestScalerClient(Target target, CallOptions options = {.timeout = absl::Seconds(10)})
      : options_(std::move(options)), channel_(loop_, std::move(target)) {}

  absl::StatusOr<externalscaler::IsActiveResponse> IsActive(const Ref& ref) {
    return channel_.Call<externalscaler::IsActiveResponse>(
        "/externalscaler.ExternalScaler/IsActive", ref, options_);
  }
  absl::StatusOr<externalscaler::GetMetricSpecResponse> GetMetricSpec(const Ref& ref) {
    return channel_.Call<externalscaler::GetMetricSpecResponse>(
        "/externalscaler.ExternalScaler/GetMetricSpec", ref, options_);
  }
  absl::StatusOr<externalscaler::GetMetricsResponse> GetMetrics(
      const externalscaler::GetMetricsRequest& request) {
    return channel_.Call<externalscaler::GetMetricsResponse>(
        "/externalscaler.ExternalScaler/GetMetrics", request, options_);
  }
  absl::StatusOr<externalscaler::GetMetricsResponse> GetMetrics(const Ref& ref) {
    externalscaler::GetMetricsRequest request;
    *request.mutable_scaledobjectref() = ref;
    request.set_metricname("keda_gpu_metric");
    return GetMetrics(request);
  }
  absl::StatusOr<gpuscaler::v1::Explanation> Explain(const Ref& ref) {
    return channel_.Call<gpuscaler::v1::Explanation>("/gpuscaler.v1.Explainer/Explain", ref,
                                                     options_);
  }

  std::unique_ptr<IsActiveStream> StreamIsActive(const Ref& ref) {
    return Open<IsActiveStream>("/externalscaler.ExternalScaler/StreamIsActive", ref);
  }
  std::unique_ptr<MetricSpecStream> StreamMetricSpec(const Ref& ref) {
    return Open<MetricSpecStream>("/externalscaler.ExternalScaler/StreamMetricSpec", ref);
  }

  // The connection, to call methods of other services.
  Channel& channel() { return channel_; }

 private:
  template <typename Stream>
  std::unique_ptr<Stream> Open(const char* method, const Ref& ref) {
    auto stream = std::make_unique<Stream>(channel_, method);
    stream->Send(ref);
    return stream;
  }

  const CallOptions options_;
  EventLoop loop_;
  Channel channel_;
};

}  // namespace gpuscaler
