// grpc.testing.TestService on our transport, for grpc-go's interop client, with health and
// reflection.
//
//   interop_server [--tls CERTIFICATE KEY | --unix PATH]
//
// Prints its port, 0 with --unix, and serves until its standard input ends.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "interop.pb.h"
#include "wire/health_service.h"
#include "wire/reflection_service.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

namespace testing = grpc::testing;
using Call = std::shared_ptr<ServerCall>;

// Copies custom_metadata's fields to the headers and trailers.
void EchoMetadata(ServerCall& call) {
  const auto copy = [&](const char* name, void (ServerCall::*add)(std::string, std::string)) {
    const auto found = call.headers().metadata.find(name);
    if (found != call.headers().metadata.end()) (call.*add)(found->first, found->second);
  };
  copy("x-grpc-test-echo-initial", &ServerCall::AddHeader);
  copy("x-grpc-test-echo-trailing-bin", &ServerCall::AddTrailer);
}

absl::Status StatusOf(const testing::EchoStatus& echo) {
  return absl::Status(static_cast<absl::StatusCode>(echo.code()), echo.message());
}

template <typename Response>
std::string Zeros(int size) {
  Response response;
  response.mutable_payload()->set_body(std::string(static_cast<size_t>(size), '\0'));
  return response.SerializeAsString();
}

class Method : public ServerCall::Handler {
 public:
  explicit Method(Call call) : call_(std::move(call)) { EchoMetadata(*call_); }

 protected:
  const Call call_;
};

class EmptyCall : public Method {
 public:
  using Method::Method;
  void OnMessage(std::string) override {
    call_->Write("");
    call_->Finish(absl::OkStatus());
  }
};

class UnaryCall : public Method {
 public:
  using Method::Method;
  void OnMessage(std::string bytes) override {
    testing::SimpleRequest request;
    request.ParseFromString(bytes);
    if (request.response_status().code() == 0) {
      call_->Write(Zeros<testing::SimpleResponse>(request.response_size()));
    }
    call_->Finish(StatusOf(request.response_status()));
  }
};

class StreamingInputCall : public Method {
 public:
  using Method::Method;
  void OnMessage(std::string bytes) override {
    testing::StreamingInputCallRequest request;
    request.ParseFromString(bytes);
    size_ += request.payload().body().size();
  }
  void OnLastMessage() override {
    testing::StreamingInputCallResponse response;
    response.set_aggregated_payload_size(static_cast<int>(size_));
    call_->Write(response.SerializeAsString());
    call_->Finish(absl::OkStatus());
  }

 private:
  size_t size_ = 0;
};

// StreamingOutputCall and FullDuplexCall.
class OutputCall : public Method {
 public:
  using Method::Method;
  void OnMessage(std::string bytes) override {
    testing::StreamingOutputCallRequest request;
    request.ParseFromString(bytes);
    if (request.response_status().code() != 0) {
      return call_->Finish(StatusOf(request.response_status()));
    }
    for (const testing::ResponseParameters& each : request.response_parameters()) {
      call_->Write(Zeros<testing::StreamingOutputCallResponse>(each.size()));
    }
  }
  void OnLastMessage() override { call_->Finish(absl::OkStatus()); }
};

template <typename Handler>
StartCall Starts() {
  return [](const Call& call) { return std::make_unique<Handler>(call); };
}

std::string TextOf(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int Main(int argc, char** argv) {
  WireServerOptions options{.bind_address = "127.0.0.1"};
  if (argc == 3) options.bind_address = std::string("unix:") + argv[2];
  if (argc == 4) options.tls = TlsPems{.cert = TextOf(argv[2]), .key = TextOf(argv[3]), .ca = {}};
  const std::string service = "/grpc.testing.TestService/";
  Methods methods = {{service + "EmptyCall", Starts<EmptyCall>()},
                     {service + "UnaryCall", Starts<UnaryCall>()},
                     {service + "StreamingInputCall", Starts<StreamingInputCall>()},
                     {service + "StreamingOutputCall", Starts<OutputCall>()},
                     {service + "FullDuplexCall", Starts<OutputCall>()}};
  HealthService health;
  ReflectionService reflection({"grpc.health.v1.Health", "grpc.testing.TestService"});
  methods.merge(health.methods());
  methods.merge(reflection.methods());
  const auto server = WireServer::Start(std::move(options), std::move(methods));
  if (!server.ok()) {
    std::fprintf(stderr, "interop_server: %s\n", server.status().ToString().c_str());
    return 1;
  }
  std::printf("%d\n", (*server)->port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}

}  // namespace
}  // namespace gpuscaler

int main(int argc, char** argv) { return gpuscaler::Main(argc, argv); }
