#include "wire/client_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "wire/client_session.h"
#include "wire/event_loop.h"
#include "wire/grpc_text.h"
#include "wire/header_field.h"
#include "wire/http2_bytes.h"

namespace gpuscaler {
namespace {

constexpr size_t kChunk = 16 << 10;  // delivered before a pause is looked at

absl::StatusCode CodeOfReset(uint32_t error) {
  switch (error) {
    case NGHTTP2_REFUSED_STREAM:
      return absl::StatusCode::kUnavailable;
    case NGHTTP2_CANCEL:
      return absl::StatusCode::kCancelled;
    case NGHTTP2_ENHANCE_YOUR_CALM:
      return absl::StatusCode::kResourceExhausted;
    case NGHTTP2_INADEQUATE_SECURITY:
      return absl::StatusCode::kPermissionDenied;
    default:
      return absl::StatusCode::kInternal;
  }
}

std::string AuthorityOf(const Target& target) {
  if (absl::StartsWith(target.address, "unix:")) return "localhost";
  return target.server_name.empty() ? target.address : target.server_name;
}

}  // namespace

int32_t ClientStream::Submit(nghttp2_session* http2, const Target& target, const ClientCall& call) {
  const std::string authority = AuthorityOf(target);
  std::vector<nghttp2_nv> fields = {Field(":method", "POST"),
                                    Field(":scheme", target.tls == nullptr ? "http" : "https"),
                                    Field(":path", call.method_),
                                    Field(":authority", authority),
                                    Field("te", "trailers"),
                                    Field("content-type", "application/grpc"),
                                    Field("user-agent", "grpc-c++-keda-gpu-scaler/1.0"),
                                    Field("grpc-accept-encoding", "identity")};
  std::string timeout;
  if (call.options_.timeout != absl::InfiniteDuration()) {
    timeout = GrpcTimeout(call.deadline_ - SteadyNow());
    fields.push_back(Field("grpc-timeout", timeout));
  }
  AddTo(fields, call.options_.metadata);
  const nghttp2_data_provider provider = OutgoingData<ClientSession>();
  return nghttp2_submit_request(http2, nullptr, fields.data(), fields.size(), &provider, nullptr);
}

ClientStream::ClientStream(int32_t id, ClientSession& session,
                           const std::shared_ptr<ClientCall>& call)
    : id_(id),
      session_(session),
      call_(call),
      budget_(call->options_.longest_message),
      reader_(call->options_.longest_message, budget_) {
  call_->stream_ = this;
}

bool ClientStream::CountHeader(size_t bytes) {
  constexpr size_t kPerField = 32;  // RFC 9113, section 6.5.2
  header_bytes_ += bytes + kPerField;
  if (header_bytes_ <= kHeaderListBytes) return true;
  Fail(absl::ResourceExhaustedError(
      absl::StrCat("the answer's headers are larger than ", kHeaderListBytes, " bytes")));
  return false;
}

void ClientStream::AddHeader(absl::string_view name, absl::string_view value) {
  if (name == ":status") {
    if (!absl::SimpleAtoi(value, &http_status_)) http_status_ = 0;
  } else if (name == "content-type") {
    content_type_ = std::string(value);
  } else if (name == "grpc-status") {
    grpc_status_ = std::string(value);
  } else if (name == "grpc-message") {
    grpc_message_ = std::string(value);
  } else if (!absl::StartsWith(name, ":") && !IsReservedHeader(name)) {
    fields_.emplace(name, value);
  }
}

void ClientStream::EndHeaders(bool is_last) {
  if (is_last) return ServerIsDone();
  CallMetadata fields = std::exchange(fields_, {});
  if (has_headers_ || http_status_ / 100 == 1) return;
  has_headers_ = true;
  if (http_status_ != 200) return Fail(StatusOfHttp(http_status_));
  if (!absl::StartsWith(content_type_, "application/grpc")) {
    return Fail(absl::UnknownError(absl::StrCat("the answer's content-type is \"",
                                                absl::CHexEscape(content_type_),
                                                "\", and not application/grpc")));
  }
  call_->listener_.OnHeaders(fields);
}

void ClientStream::AddData(absl::string_view bytes) {
  if (call_->is_paused_ || !waiting_.empty() || !undecoded_.empty()) {
    undecoded_.append(bytes.data(), bytes.size());
    return;
  }
  Deliver(bytes);
}

bool ClientStream::Deliver(absl::string_view bytes) {
  const absl::Status read = reader_.Add(bytes, [&](std::string message) {
    if (call_->is_paused_)
      waiting_.push_back(std::move(message));
    else
      call_->listener_.OnMessage(std::move(message));
  });
  if (!read.ok()) {
    Fail(read);
    return false;
  }
  nghttp2_session_consume_stream(session_.http2(), id_, bytes.size());
  return true;
}

void ClientStream::Resume() {
  ClientSession& session = session_;  // the stream may go
  while (!call_->is_paused_ && !(waiting_.empty() && undecoded_.empty())) {
    if (!waiting_.empty()) {
      std::string message = std::move(waiting_.front());
      waiting_.pop_front();
      call_->listener_.OnMessage(std::move(message));
      continue;
    }
    const std::string bytes = undecoded_.substr(0, kChunk);
    undecoded_.erase(0, bytes.size());
    if (!Deliver(bytes)) return session.Send();
  }
  if (!call_->is_paused_ && server_is_done_) ServerIsDone();
  session.Send();
}

void ClientStream::ServerIsDone() {
  server_is_done_ = true;
  if (!waiting_.empty() || !undecoded_.empty()) return;  // until Resume()
  absl::Status status;
  if (!grpc_status_.empty()) {
    status = StatusOfTrailers(grpc_status_, grpc_message_);
    if (status.ok() && !reader_.is_complete()) {
      status = absl::InternalError("the last message is not complete");
    }
  } else if (http_status_ != 200) {
    status = StatusOfHttp(http_status_);
  } else {
    status = absl::UnknownError("the answer ends without grpc-status");
  }
  if (!has_sent_all_) {
    nghttp2_submit_rst_stream(session_.http2(), NGHTTP2_FLAG_NONE, id_, NGHTTP2_NO_ERROR);
  }
  End({.status = status, .trailers = std::move(fields_)});
}

void ClientStream::OnClose(uint32_t error) {
  if (server_is_done_) return;
  // The server's own timer may be the first.
  if (error == NGHTTP2_CANCEL && SteadyNow() >= call_->deadline_) {
    return End({.status = call_->DeadlineStatus()});
  }
  const std::string text =
      error == NGHTTP2_REFUSED_STREAM && !session_.accepts_calls()
          ? absl::StrCat(session_.target().address, " is shutting down")
          : absl::StrCat("the server has reset the call (", nghttp2_http2_strerror(error), ")");
  End({.status = absl::Status(CodeOfReset(error), text)});
}

void ClientStream::Fail(const absl::Status& status) {
  nghttp2_submit_rst_stream(session_.http2(), NGHTTP2_FLAG_NONE, id_, NGHTTP2_CANCEL);
  End({.status = status});
}

void ClientStream::End(const CallEnd& end) {
  const std::shared_ptr<ClientCall> call = call_;
  const auto ended = session_.Take(id_);
  call->End(end);
}

void ClientStream::Flush() {
  nghttp2_session_resume_data(session_.http2(), id_);
  session_.Send();
}

void ClientStream::Reset() {
  const auto ended = session_.Take(id_);
  nghttp2_submit_rst_stream(session_.http2(), NGHTTP2_FLAG_NONE, id_, NGHTTP2_CANCEL);
  session_.Send();
}

ssize_t ClientStream::ReadOutgoing(uint8_t* buffer, size_t size, uint32_t* flags) {
  if (sent_ == current_.size()) {
    current_.clear();
    sent_ = 0;
    MutexLock lock(call_->mutex_);
    if (!call_->outgoing_.empty()) {
      current_ = Prefixed(call_->outgoing_.front().bytes);
      call_->outgoing_.pop_front();
    } else if (call_->writes_are_done_) {
      has_sent_all_ = true;
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      return 0;
    } else {
      return NGHTTP2_ERR_DEFERRED;
    }
  }
  const size_t more = std::min(size, current_.size() - sent_);
  std::copy_n(current_.data() + sent_, more, buffer);
  sent_ += more;
  return static_cast<ssize_t>(more);
}

}  // namespace gpuscaler
