#include "serve/scaler_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file_text.h"
#include "base/status_macros.h"
#include "externalscaler.pb.h"
#include "wire/client_tls.h"
#include "wire/protobuf_log.h"

namespace gpuscaler {
namespace {

using gpuscaler::v1::Explanation;
using gpuscaler::v1::FleetView;

// Enough for the view of a fleet of 20,000 nodes. All other replies are small.
constexpr size_t kLargestReply = 64 << 20;

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  if (path.empty()) return "";
  ASSIGN_OR_RETURN(std::string text, ReadFileText(path));
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
  return text;
}

absl::StatusOr<std::shared_ptr<SSL_CTX>> TlsOf(const ScalerClientOptions& options) {
  TlsPems pems;
  ASSIGN_OR_RETURN(pems.ca, ReadPem(options.ca));
  ASSIGN_OR_RETURN(pems.cert, ReadPem(options.cert));
  ASSIGN_OR_RETURN(pems.key, ReadPem(options.key));
  return ClientTls(pems);
}

// KEDA reads the float only if it is above 0.
double FloatOrInt(double as_float, int64_t as_int) {
  return as_float > 0 ? as_float : static_cast<double>(as_int);
}

externalscaler::ScaledObjectRef ToProto(const TriggerRef& trigger) {
  externalscaler::ScaledObjectRef ref;
  ref.set_name(trigger.name);
  ref.set_namespace_(trigger.namespace_name);
  for (const auto& [key, value] : trigger.metadata) (*ref.mutable_scalermetadata())[key] = value;
  return ref;
}

}  // namespace

template <typename Reply, typename Request>
absl::StatusOr<Reply> ScalerClient::Call(const char* method, const Request& request) const {
  return channel_.Call<Reply>(method, request,
                              {.timeout = deadline_, .longest_message = kLargestReply});
}

absl::StatusOr<std::unique_ptr<ScalerClient>> ScalerClient::Open(
    const ScalerClientOptions& options) {
  TakeOverProtobufLog();
  Target target = {.address = options.address, .server_name = options.server_name};
  if (options.cert.empty() != options.key.empty()) {
    return absl::InvalidArgumentError("a client certificate and its key go together");
  }
  if (options.tls) {
    ASSIGN_OR_RETURN(auto context, TlsOf(options));
    target.tls = [context = std::move(context)] { return context; };
  }
  return std::unique_ptr<ScalerClient>(new ScalerClient(std::move(target), options.deadline));
}

absl::StatusOr<bool> ScalerClient::IsActive(const TriggerRef& trigger) const {
  ASSIGN_OR_RETURN(const auto reply,
                   Call<externalscaler::IsActiveResponse>("/externalscaler.ExternalScaler/IsActive",
                                                          ToProto(trigger)));
  return reply.result();
}

absl::StatusOr<MetricSpec> ScalerClient::GetMetricSpec(const TriggerRef& trigger) const {
  ASSIGN_OR_RETURN(const auto reply,
                   Call<externalscaler::GetMetricSpecResponse>(
                       "/externalscaler.ExternalScaler/GetMetricSpec", ToProto(trigger)));
  if (reply.metricspecs_size() != 1) {
    return absl::InternalError(
        absl::StrCat("GetMetricSpec answered ", reply.metricspecs_size(), " specs instead of one"));
  }
  const auto& spec = reply.metricspecs(0);
  return MetricSpec{spec.metricname(), FloatOrInt(spec.targetsizefloat(), spec.targetsize())};
}

absl::StatusOr<double> ScalerClient::GetMetrics(const TriggerRef& trigger,
                                                const std::string& metric_name) const {
  externalscaler::GetMetricsRequest request;
  *request.mutable_scaledobjectref() = ToProto(trigger);
  request.set_metricname(metric_name);
  ASSIGN_OR_RETURN(const auto reply, Call<externalscaler::GetMetricsResponse>(
                                         "/externalscaler.ExternalScaler/GetMetrics", request));
  if (reply.metricvalues().empty()) return absl::InternalError("GetMetrics answered no value");
  double total = 0;
  for (const auto& value : reply.metricvalues()) {
    total += FloatOrInt(value.metricvaluefloat(), value.metricvalue());
  }
  return total;
}

absl::StatusOr<Explanation> ScalerClient::Explain(const TriggerRef& trigger) const {
  return Call<Explanation>("/gpuscaler.v1.Explainer/Explain", ToProto(trigger));
}

absl::StatusOr<FleetView> ScalerClient::View() const {
  return Call<FleetView>("/gpuscaler.v1.FleetViewer/View", gpuscaler::v1::ViewRequest());
}

}  // namespace gpuscaler
