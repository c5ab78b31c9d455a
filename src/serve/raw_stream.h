// A stream whose messages are bytes, for services that Debian has no generated code for. Tests'.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gpuscaler {

// Sends one request and reads what comes. Each step takes 10 s at most, all together.
class RawStream {
 public:
  RawStream(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
            const std::string& request)
      : stub_(channel) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    stream_ = stub_.PrepareCall(&context_, method, &queue_);
    stream_->StartCall(nullptr);
    Done();
    grpc::Slice slice(request);
    stream_->Write(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions().set_last_message(), nullptr);
    Done();
  }
  ~RawStream() {
    context_.TryCancel();
    Finish();
    queue_.Shutdown();
  }

  // The next message; empty when the stream has ended.
  std::optional<std::string> Read() {
    grpc::ByteBuffer message;
    stream_->Read(&message, nullptr);
    if (!Done()) return std::nullopt;
    std::vector<grpc::Slice> slices;
    message.Dump(&slices);
    std::string bytes;
    for (const grpc::Slice& slice : slices) {
      bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
    }
    return bytes;
  }

 private:
  // Whether the step that was begun went well.
  bool Done() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }
  void Finish() {
    grpc::Status status;
    stream_->Finish(&status, nullptr);
    Done();
  }

  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  grpc::GenericStub stub_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
};

}  // namespace gpuscaler
