#include "wire/reflection_service.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <deque>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "reflection_v1.pb.h"
#include "reflection_v1alpha.pb.h"

namespace gpuscaler {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1::FileDescriptorResponse;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

namespace {

constexpr int kMaxCalls = 64;
constexpr int kMaxCallsOfAddress = 16;
constexpr size_t kMaxWaiting = 16;  // requests of a call
constexpr size_t kLongestRequest = 1024;

void AddWithImports(const FileDescriptor& file, std::set<const FileDescriptor*>& added,
                    FileDescriptorResponse& response) {
  if (!added.insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  response.add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) {
    AddWithImports(*file.dependency(i), added, response);
  }
}

void SetNotFound(ServerReflectionResponse& response, const char* message) {
  response.mutable_error_response()->set_error_code(static_cast<int>(absl::StatusCode::kNotFound));
  response.mutable_error_response()->set_error_message(message);
}

void SetFile(ServerReflectionResponse& response, const FileDescriptor* file) {
  if (file == nullptr) return SetNotFound(response, "the server has no such file or symbol");
  std::set<const FileDescriptor*> added;
  AddWithImports(*file, added, *response.mutable_file_descriptor_response());
}

void SetExtensionFile(ServerReflectionResponse& response, const std::string& type, int number) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  const Descriptor* const extended = pool.FindMessageTypeByName(type);
  const FieldDescriptor* const extension =
      extended == nullptr ? nullptr : pool.FindExtensionByNumber(extended, number);
  SetFile(response, extension == nullptr ? nullptr : extension->file());
}

void SetExtensionNumbers(ServerReflectionResponse& response, const std::string& type) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  const Descriptor* const extended = pool.FindMessageTypeByName(type);
  if (extended == nullptr) return SetNotFound(response, "the server has no such type");
  auto& numbers = *response.mutable_all_extension_numbers_response();
  numbers.set_base_type_name(type);
  std::vector<const FieldDescriptor*> extensions;
  pool.FindAllExtensions(extended, &extensions);
  for (const FieldDescriptor* each : extensions) numbers.add_extension_number(each->number());
}

// Returns false if `request` has no message_request.
bool Answer(const ServerReflectionRequest& request, const std::vector<std::string>& services,
            ServerReflectionResponse& response) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kListServices:
      response.mutable_list_services_response();
      for (const std::string& each : services) {
        response.mutable_list_services_response()->add_service()->set_name(each);
      }
      return true;
    case ServerReflectionRequest::kFileByFilename:
      SetFile(response, pool.FindFileByName(request.file_by_filename()));
      return true;
    case ServerReflectionRequest::kFileContainingSymbol:
      SetFile(response, pool.FindFileContainingSymbol(request.file_containing_symbol()));
      return true;
    case ServerReflectionRequest::kFileContainingExtension:
      SetExtensionFile(response, request.file_containing_extension().containing_type(),
                       request.file_containing_extension().extension_number());
      return true;
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      SetExtensionNumbers(response, request.all_extension_numbers_of_type());
      return true;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      break;
  }
  return false;
}

}  // namespace

// Answers a request when the answer before is on its way.
class ReflectionService::Handler : public ServerCall::Handler {
 public:
  Handler(ReflectionService& service, std::shared_ptr<ServerCall> call)
      : service_(service), call_(std::move(call)), has_place_(service.TakePlace(peer())) {
    if (has_place_) return;
    call_->Finish(absl::ResourceExhaustedError("too many reflection calls are open"));
  }
  ~Handler() override {
    if (has_place_) service_.GiveBackPlace(peer());
  }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

  void OnMessage(std::string bytes) override {
    if (bytes.size() > kLongestRequest) {
      return call_->Finish(absl::InvalidArgumentError("the request is too long"));
    }
    if (waiting_.size() == kMaxWaiting) {
      return call_->Finish(absl::ResourceExhaustedError("too many requests wait for an answer"));
    }
    waiting_.push_back(std::move(bytes));
    if (!is_writing_) AnswerNext();
  }
  void OnLastMessage() override {
    has_all_ = true;
    if (!is_writing_) AnswerNext();
  }
  void OnWritten() override {
    is_writing_ = false;
    AnswerNext();
  }

 private:
  const std::string& peer() const { return call_->headers().peer; }

  void AnswerNext() {
    if (waiting_.empty()) {
      if (has_all_) call_->Finish(absl::OkStatus());
      return;
    }
    // v1alpha's messages have the same bytes.
    ServerReflectionRequest request;
    const bool is_request = request.ParseFromString(waiting_.front());
    waiting_.pop_front();
    ServerReflectionResponse response;
    if (!is_request || !Answer(request, service_.services_, response)) {
      return call_->Finish(absl::InvalidArgumentError("the message is no reflection request"));
    }
    response.set_valid_host(request.host());
    *response.mutable_original_request() = std::move(request);
    is_writing_ = true;
    call_->Write(response.SerializeAsString());
  }

  ReflectionService& service_;
  const std::shared_ptr<ServerCall> call_;
  const bool has_place_;
  std::deque<std::string> waiting_;
  bool is_writing_ = false;
  bool has_all_ = false;
};

ReflectionService::ReflectionService(std::vector<std::string> services)
    : services_(std::move(services)) {
  // Links its descriptors.
  grpc::reflection::v1alpha::ServerReflectionRequest::descriptor();
}

bool ReflectionService::TakePlace(const std::string& peer) {
  MutexLock lock(mutex_);
  const auto own = calls_of_.find(peer);
  if (calls_ == kMaxCalls || (own != calls_of_.end() && own->second == kMaxCallsOfAddress)) {
    return false;
  }
  ++calls_;
  ++calls_of_[peer];
  return true;
}

void ReflectionService::GiveBackPlace(const std::string& peer) {
  MutexLock lock(mutex_);
  --calls_;
  const auto own = calls_of_.find(peer);
  if (--own->second == 0) calls_of_.erase(own);
}

Methods ReflectionService::methods() {
  const StartCall start = [this](const std::shared_ptr<ServerCall>& call) {
    return std::make_unique<Handler>(*this, call);
  };
  return {{"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", start},
          {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", start}};
}

}  // namespace gpuscaler
