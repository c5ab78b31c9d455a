#include "serve/scaler_client.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/file_text.h"
#include "base/status_macros.h"
#include "explain.grpc.pb.h"
#include "externalscaler.grpc.pb.h"
#include "fleetview.grpc.pb.h"
#include "rpc/grpc_log.h"
#include "rpc/grpc_status.h"

namespace gpuscaler {
namespace {

using externalscaler::ExternalScaler;
using gpuscaler::v1::Explainer;
using gpuscaler::v1::Explanation;

// The view of a fleet of 20,000 nodes; all else is small.
constexpr int kLargestReply = 64 << 20;

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  if (path.empty()) return "";
  ASSIGN_OR_RETURN(std::string text, ReadFileText(path));
  if (text.empty()) return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
  return text;
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> Credentials(
    const ScalerClientOptions& options) {
  if (options.cert.empty() != options.key.empty()) {
    return absl::InvalidArgumentError("a client certificate and its key go together");
  }
  if (!options.tls) return grpc::InsecureChannelCredentials();
  grpc::SslCredentialsOptions ssl;
  ASSIGN_OR_RETURN(ssl.pem_root_certs, ReadPem(options.ca));
  ASSIGN_OR_RETURN(ssl.pem_cert_chain, ReadPem(options.cert));
  ASSIGN_OR_RETURN(ssl.pem_private_key, ReadPem(options.key));
  return grpc::SslCredentials(ssl);
}

// KEDA reads the float only when it is above 0.
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

class ScalerClient::Impl {
 public:
  Impl(const std::shared_ptr<grpc::Channel>& channel, absl::Duration deadline)
      : scaler(ExternalScaler::NewStub(channel)),
        explainer(Explainer::NewStub(channel)),
        viewer(gpuscaler::v1::FleetViewer::NewStub(channel)),
        deadline_(deadline) {}

  template <typename Stub, typename Request, typename Reply>
  absl::StatusOr<Reply> Call(const std::unique_ptr<Stub>& stub,
                             grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                          Reply*),
                             const Request& request) const {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(deadline_));
    Reply reply;
    RETURN_IF_ERROR(FromGrpc((stub.get()->*method)(&context, request, &reply)));
    return reply;
  }

  const std::unique_ptr<ExternalScaler::Stub> scaler;
  const std::unique_ptr<Explainer::Stub> explainer;
  const std::unique_ptr<gpuscaler::v1::FleetViewer::Stub> viewer;

 private:
  const absl::Duration deadline_;
};

ScalerClient::ScalerClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ScalerClient::~ScalerClient() = default;

absl::StatusOr<std::unique_ptr<ScalerClient>> ScalerClient::Open(
    const ScalerClientOptions& options) {
  TakeOverGrpcLog();
  ASSIGN_OR_RETURN(const auto credentials, Credentials(options));
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // the scaler itself, not a proxy's view of it
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kLargestReply);
  if (!options.server_name.empty()) arguments.SetSslTargetNameOverride(options.server_name);
  const auto channel = grpc::CreateCustomChannel(options.address, credentials, arguments);
  return std::unique_ptr<ScalerClient>(
      new ScalerClient(std::make_unique<Impl>(channel, options.deadline)));
}

absl::StatusOr<bool> ScalerClient::IsActive(const TriggerRef& trigger) const {
  ASSIGN_OR_RETURN(const auto reply,
                   impl_->Call(impl_->scaler, &ExternalScaler::Stub::IsActive, ToProto(trigger)));
  return reply.result();
}

absl::StatusOr<MetricSpec> ScalerClient::GetMetricSpec(const TriggerRef& trigger) const {
  ASSIGN_OR_RETURN(
      const auto reply,
      impl_->Call(impl_->scaler, &ExternalScaler::Stub::GetMetricSpec, ToProto(trigger)));
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
  ASSIGN_OR_RETURN(const auto reply,
                   impl_->Call(impl_->scaler, &ExternalScaler::Stub::GetMetrics, request));
  if (reply.metricvalues().empty()) return absl::InternalError("GetMetrics answered no value");
  double total = 0;
  for (const auto& value : reply.metricvalues()) {
    total += FloatOrInt(value.metricvaluefloat(), value.metricvalue());
  }
  return total;
}

absl::StatusOr<Explanation> ScalerClient::Explain(const TriggerRef& trigger) const {
  return impl_->Call(impl_->explainer, &Explainer::Stub::Explain, ToProto(trigger));
}

absl::StatusOr<gpuscaler::v1::FleetView> ScalerClient::View() const {
  return impl_->Call(impl_->viewer, &gpuscaler::v1::FleetViewer::Stub::View,
                     gpuscaler::v1::ViewRequest());
}

}  // namespace gpuscaler
