#include "wire/health_service.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "wire/methods.h"

namespace gpuscaler {

using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;

namespace {

// A watch keeps the name of its service, known or not.
constexpr size_t kLongestName = 256;

std::string Encoded(HealthCheckResponse::ServingStatus status) {
  HealthCheckResponse response;
  response.set_status(status);
  return response.SerializeAsString();
}

}  // namespace

HealthService::HealthService() : statuses_{{"", HealthCheckResponse::SERVING}} {}

void HealthService::SetServing(const std::string& service, bool is_serving) {
  const Status status =
      is_serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
  MutexLock lock(mutex_);
  if (is_shut_down_ || StatusOf(service) == status) return;
  statuses_[service] = status;
  for (const auto& [call, watched] : watches_) {
    if (watched == service) call->WriteNewest(Encoded(status));
  }
}

void HealthService::Shutdown() {
  MutexLock lock(mutex_);
  is_shut_down_ = true;
  for (auto& [service, status] : statuses_) status = HealthCheckResponse::NOT_SERVING;
  for (const auto& [call, service] : watches_) {
    call->WriteNewest(Encoded(HealthCheckResponse::NOT_SERVING));
    call->Finish(absl::OkStatus());
  }
  watches_.clear();
}

Methods HealthService::methods() {
  Methods methods;
  methods.insert(Unary<HealthCheckRequest>(
      "/grpc.health.v1.Health/Check",
      [this](const std::shared_ptr<ServerCall>& call, const HealthCheckRequest& request) {
        Check(*call, request.service());
      }));
  methods.insert(ServerStreaming<HealthCheckRequest>(
      "/grpc.health.v1.Health/Watch",
      [this](const std::shared_ptr<ServerCall>& call, const HealthCheckRequest& request) {
        BeginWatch(call, request.service());
        return [this, call] { EndWatch(call); };
      }));
  return methods;
}

void HealthService::Check(ServerCall& call, const std::string& service) {
  Status status;
  {
    MutexLock lock(mutex_);
    status = StatusOf(service);
  }
  if (status == HealthCheckResponse::SERVICE_UNKNOWN) {
    return call.Finish(absl::NotFoundError("unknown service"));
  }
  HealthCheckResponse response;
  response.set_status(status);
  Reply(call, response);
}

void HealthService::BeginWatch(const std::shared_ptr<ServerCall>& call,
                               const std::string& service) {
  if (service.size() > kLongestName) {
    return call->Finish(absl::InvalidArgumentError(
        absl::StrCat("a service has at most ", kLongestName, " bytes of name")));
  }
  MutexLock lock(mutex_);
  if (is_shut_down_) {
    call->WriteNewest(Encoded(HealthCheckResponse::NOT_SERVING));
    return call->Finish(absl::OkStatus());
  }
  call->WriteNewest(Encoded(StatusOf(service)));
  watches_[call] = service;
}

void HealthService::EndWatch(const std::shared_ptr<ServerCall>& call) {
  MutexLock lock(mutex_);
  watches_.erase(call);
}

HealthService::Status HealthService::StatusOf(const std::string& service) const {
  const auto found = statuses_.find(service);
  return found == statuses_.end() ? HealthCheckResponse::SERVICE_UNKNOWN : found->second;
}

}  // namespace gpuscaler
