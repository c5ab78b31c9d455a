// The minimum cost of an answer to KEDA: the same proto on the same gRPC library, callback API,
// with constant answers. The baseline of tools/bench.
#include <grpcpp/grpcpp.h>

#include <iostream>

#include "absl/synchronization/mutex.h"
#include "externalscaler.grpc.pb.h"

namespace {

class ConstantScaler : public externalscaler::ExternalScaler::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetMetrics(grpc::CallbackServerContext* context,
                                       const externalscaler::GetMetricsRequest* request,
                                       externalscaler::GetMetricsResponse* response) override {
    externalscaler::MetricValue* value = response->add_metricvalues();
    value->set_metricname(request->metricname());
    value->set_metricvalue(400);
    value->set_metricvaluefloat(400);
    return Done(context);
  }

  grpc::ServerUnaryReactor* IsActive(grpc::CallbackServerContext* context,
                                     const externalscaler::ScaledObjectRef*,
                                     externalscaler::IsActiveResponse* response) override {
    response->set_result(true);
    return Done(context);
  }

 private:
  static grpc::ServerUnaryReactor* Done(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

}  // namespace

// Serves on a free loopback port, which it prints, until it is killed.
int main() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // as serve/grpc_server.cc
  ConstantScaler service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 3;
  std::cout << "event=serving grpc_port=" << port << std::endl;
  server->Wait();
}
