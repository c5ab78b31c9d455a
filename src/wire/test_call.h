// A call by Debian's gRPC, step by step.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace gpuscaler {

inline std::shared_ptr<grpc::Channel> TestChannel(int port) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port),
                                   grpc::InsecureChannelCredentials(), arguments);
}

// All functions block. A call that takes 10 s ends.
template <typename Request, typename Response>
class TestCall {
 public:
  TestCall(const std::shared_ptr<grpc::Channel>& channel, const std::string& method) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    call_ = grpc::TemplatedGenericStub<Request, Response>(channel).PrepareCall(&context_, method,
                                                                               &queue_);
    call_->StartCall(nullptr);
    Next();
  }
  ~TestCall() {
    Finish();
    queue_.Shutdown();
    Next();
  }
  TestCall(const TestCall&) = delete;
  TestCall& operator=(const TestCall&) = delete;

  bool Write(const Request& request) {
    call_->Write(request, nullptr);
    return Next();
  }
  void WritesDone() {
    call_->WritesDone(nullptr);
    Next();
  }
  // False: the call has ended.
  bool Read(Response& response) {
    call_->Read(&response, nullptr);
    return Next();
  }
  void Cancel() { context_.TryCancel(); }

  // Returns the call's status, after the answers that are not read yet.
  grpc::Status Finish() {
    if (is_finished_) return status_;
    for (Response response; Read(response);) {
    }
    call_->Finish(&status_, nullptr);
    Next();
    is_finished_ = true;
    return status_;
  }

 private:
  bool Next() {
    void* tag = nullptr;
    bool is_ok = false;
    return queue_.Next(&tag, &is_ok) && is_ok;
  }

  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<Request, Response>> call_;
  grpc::Status status_;
  bool is_finished_ = false;
};

}  // namespace gpuscaler
