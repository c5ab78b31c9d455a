// gRPC's health check, as a probe calls it.
#pragma once

#include <string>

#include "health.pb.h"
#include "process.h"
#include "wire/channel.h"

namespace gpuscaler {

// Returns the status of a service, such as "NOT_SERVING", or the error of the call. "" is the
// server as a whole.
inline std::string Health(const Server& server, const std::string& service) {
  EventLoop loop;
  Channel channel(loop, {.address = server.Address()});
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(service);
  const auto reply = channel.Call<grpc::health::v1::HealthCheckResponse>(
      "/grpc.health.v1.Health/Check", request, {.timeout = absl::Seconds(10)});
  if (!reply.ok()) return reply.status().ToString();
  return grpc::health::v1::HealthCheckResponse::ServingStatus_Name(reply->status());
}

constexpr char kScalerService[] = "externalscaler.ExternalScaler";

}  // namespace gpuscaler
