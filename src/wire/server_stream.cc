#include "wire/server_stream.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "wire/event_loop.h"
#include "wire/grpc_text.h"
#include "wire/header_field.h"
#include "wire/http2_bytes.h"
#include "wire/server_session.h"
#include "wire/unshared_status.h"

namespace gpuscaler {
namespace {

// Encoded it fits the 8 KiB of trailers that clients accept.
constexpr size_t kLongestStatusText = 2000;
// Memory of a metadata field besides its text: a map's node, and two strings.
constexpr size_t kFieldBytes = 32 + sizeof(std::pair<const std::string, std::string>);

std::string StatusText(const absl::Status& status) {
  absl::string_view text = status.message();
  if (text.size() <= kLongestStatusText) return PercentEncoded(text);
  size_t end = kLongestStatusText;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // inside a UTF-8 character
  return PercentEncoded(absl::StrCat(text.substr(0, end), "..."));
}

// gRPC over HTTP/2: "application/grpc", alone or with "+proto" or ";parameter".
bool IsGrpc(absl::string_view content_type) {
  if (!absl::ConsumePrefix(&content_type, "application/grpc")) return false;
  return content_type.empty() || content_type[0] == '+' || content_type[0] == ';';
}

std::vector<nghttp2_nv> ResponseFields() {
  return {Field(":status", "200"), Field("content-type", "application/grpc"),
          Field("grpc-accept-encoding", "identity")};
}

}  // namespace

ServerStream::ServerStream(int32_t id, ServerSession& session)
    : id_(id),
      session_(session),
      reader_(session.limits().longest_message, session.address_context().unfinished_bytes) {
  headers_.peer = session.peer();
  headers_.has_certificate = session.HasCertificate();
  ++session_.address_context().streams;
  ++session_.server().streams;
}

ServerStream::~ServerStream() {
  --session_.address_context().streams;
  --session_.server().streams;
  if (call_ != nullptr) call_->Abandon();
  if (handler_ != nullptr) handler_->OnEnd();
}

bool ServerStream::CountHeader(size_t bytes) {
  constexpr size_t kPerField = 32;  // RFC 9113, section 6.5.2
  const size_t most = session_.limits().header_list_bytes;
  header_bytes_ += bytes + kPerField;
  if (header_bytes_ > most && !exceeded_.has_value()) {
    exceeded_ = Limit::kHeaderList;
    refused_ =
        absl::ResourceExhaustedError(absl::StrCat("the headers are larger than ", most, " bytes"));
  }
  return header_bytes_ <= 4 * most;
}

void ServerStream::AddHeader(absl::string_view name, absl::string_view value) {
  if (exceeded_.has_value()) return;
  constexpr size_t kLongestEncoding = 32;
  if (name == ":path") {
    if (ReserveHeader(name, value)) headers_.path = std::string(value);
  } else if (name == ":method") {
    if (value != "POST") refused_ = absl::UnimplementedError("gRPC calls are POST requests");
  } else if (name == "content-type") {
    is_grpc_ = IsGrpc(value);
  } else if (name == "grpc-encoding") {
    if (value.empty() || value == "identity") return;
    refused_ = absl::UnimplementedError(
        absl::StrCat("grpc-encoding ", value.substr(0, kLongestEncoding), " is not accepted"));
  } else if (name == "grpc-timeout") {
    const std::optional<absl::Duration> timeout = ParseGrpcTimeout(value);
    if (timeout.has_value())
      headers_.deadline = SteadyNow() + *timeout;
    else
      refused_ = absl::InternalError("grpc-timeout is not a duration");
  } else if (!absl::StartsWith(name, ":") && !IsReservedHeader(name)) {
    if (headers_.metadata.size() >= session_.limits().metadata_keys) {
      exceeded_ = Limit::kMetadataKeys;
      refused_ = absl::ResourceExhaustedError("too many metadata keys");
      return;
    }
    if (ReserveHeader(name, value)) headers_.metadata.emplace(name, value);
  }
}

bool ServerStream::ReserveHeader(absl::string_view name, absl::string_view value) {
  const size_t bytes = name.size() + value.size() + kFieldBytes;
  if (!reader_.Reserve(bytes)) {
    exceeded_ = Limit::kUnfinishedBytes;
    refused_ = absl::ResourceExhaustedError("too many calls have large headers; try again");
    return false;
  }
  reserved_header_bytes_ += bytes;
  return true;
}

absl::Status ServerStream::Check() {
  if (!refused_.ok()) return refused_;
  if (session_.address_context().streams > session_.limits().streams_per_address) {
    exceeded_ = Limit::kStreamsPerAddress;
    return absl::ResourceExhaustedError("too many calls of this address are open");
  }
  if (session_.server().methods.find(headers_.path) == session_.server().methods.end()) {
    constexpr size_t kLongestName = 100;
    return absl::UnimplementedError(
        absl::StrCat("there is no method ", headers_.path.substr(0, kLongestName)));
  }
  while (session_.server().streams > session_.limits().streams_in_all) {
    if (session_.server().make_room_for_stream(session_)) continue;
    exceeded_ = Limit::kStreams;
    return absl::ResourceExhaustedError("too many calls are open");
  }
  return absl::OkStatus();
}

void ServerStream::Start() {
  StartOrRefuse();
  headers_ = {};
  // Handlers read the metadata only when they are made.
  if (call_ != nullptr) call_->headers_.metadata.clear();
  reader_.Release(std::exchange(reserved_header_bytes_, 0));
}

void ServerStream::StartOrRefuse() {
  if (refused_.ok() && !is_grpc_) {
    const nghttp2_nv fields[] = {Field(":status", "415")};
    nghttp2_submit_response(session_.http2(), id_, fields, std::size(fields), nullptr);
    has_sent_status_ = true;
    return;
  }
  if (const absl::Status status = Check(); !status.ok()) {
    if (exceeded_.has_value()) session_.server().log.Add(*exceeded_, session_.peer());
    return SubmitTrailersOnly(status);
  }
  const auto method = session_.server().methods.find(headers_.path);
  const absl::Time deadline = headers_.deadline;
  call_ = std::make_shared<ServerCall>(std::move(headers_), session_.server().loop);
  call_->stream_ = this;
  {
    MutexLock lock(call_->mutex_);
    call_->unread_bytes_.emplace(session_.address_context().unread_bytes);
  }
  if (deadline != absl::InfiniteFuture()) {
    deadline_ = NewEvent<&ServerStream::OnDeadline>(session_.server().loop, this);
    SetTimer(deadline_, deadline - SteadyNow());
  }
  handler_ = method->second(call_);
}

void ServerStream::OnDeadline() {
  FinishNow(absl::DeadlineExceededError("the call's deadline has passed"));
}

void ServerStream::AddData(absl::string_view bytes) {
  if (handler_ == nullptr || has_sent_status_) return;
  const absl::Status read = reader_.Add(bytes, [&](std::string message) {
    if (!call_->is_finished()) handler_->OnMessage(std::move(message));
  });
  if (read.ok()) return;
  if (read.code() == absl::StatusCode::kResourceExhausted) {
    session_.server().log.Add(reader_.is_too_long() ? Limit::kMessageSize : Limit::kUnfinishedBytes,
                              session_.peer());
  }
  call_->Finish(read);
  handler_->OnEnd();
  handler_ = nullptr;
}

void ServerStream::EndData() {
  client_is_done_ = true;
  if (handler_ == nullptr || call_->is_finished()) return;
  if (reader_.is_complete())
    handler_->OnLastMessage();
  else
    call_->Finish(absl::InternalError("the last message is not complete"));
}

// Sends the status if the client can receive it now, else resets the stream. The rest of a message
// that has begun must be sent before the status. After the headers nghttp2 requests the status only
// while the flow-control windows are open.
void ServerStream::FinishNow(const absl::Status& status) {
  {
    MutexLock lock(call_->mutex_);
    // Finish() may have set another status, such as OK. It holds only if no message is dropped: an
    // OK without its message is not a response.
    if (!call_->outgoing_.empty() || !call_->status_.has_value()) call_->status_ = Unshared(status);
    while (!call_->outgoing_.empty()) call_->DropLast();
    call_->sends_headers_ = false;  // a status of its own needs no window
  }
  if (handler_ != nullptr) handler_->OnEnd();
  handler_ = nullptr;
  if (sent_ == current_.size() &&
      (!has_sent_headers_ ||
       (nghttp2_session_get_stream_remote_window_size(session_.http2(), id_) > 0 &&
        nghttp2_session_get_remote_window_size(session_.http2()) > 0))) {
    return Flush();
  }
  DropCurrent();
  nghttp2_submit_rst_stream(session_.http2(), NGHTTP2_FLAG_NONE, id_, NGHTTP2_CANCEL);
  session_.Send();
}

void ServerStream::FinishForUnreadLimit(const absl::Status& status) {
  session_.server().log.Add(Limit::kUnreadBytes, session_.peer());
  FinishNow(status);
}

void ServerStream::DropCurrent() {
  {
    MutexLock lock(call_->mutex_);
    call_->unread_bytes_->Release(current_.size());
  }
  current_ = {};
  sent_ = 0;
}

void ServerStream::SubmitTrailersOnly(const absl::Status& status) {
  const std::string code = GrpcCode(status.code());
  std::string text = StatusText(status);
  std::vector<nghttp2_nv> fields = ResponseFields();
  if (call_ != nullptr) {
    MutexLock lock(call_->mutex_);
    if (!call_->unread_bytes_->Reserve(text.size())) text.clear();
    AddTo(fields, call_->initial_);
    AddTo(fields, call_->trailing_);
  }
  fields.push_back(Field("grpc-status", code));
  fields.push_back(Field("grpc-message", text));
  nghttp2_submit_response(session_.http2(), id_, fields.data(), fields.size(), nullptr);
  has_sent_headers_ = has_sent_status_ = true;
}

void ServerStream::SubmitHeaders() {
  std::vector<nghttp2_nv> fields = ResponseFields();
  MutexLock lock(call_->mutex_);
  AddTo(fields, call_->initial_);
  const nghttp2_data_provider provider = OutgoingData<ServerSession>();
  nghttp2_submit_response(session_.http2(), id_, fields.data(), fields.size(), &provider);
  has_sent_headers_ = true;
}

void ServerStream::Flush() {
  if (has_sent_status_) return;
  std::optional<absl::Status> status;
  bool has_messages = false, sends_headers = false;
  {
    MutexLock lock(call_->mutex_);
    call_->is_woken_ = false;
    status = call_->status_;
    has_messages = !call_->outgoing_.empty();
    sends_headers = call_->sends_headers_;
  }
  if (has_sent_headers_) {
    nghttp2_session_resume_data(session_.http2(), id_);
  } else if (!has_messages && !sends_headers && status.has_value()) {
    SubmitTrailersOnly(*status);
  } else if (has_messages || sends_headers) {
    SubmitHeaders();
  }
  session_.Send();
}

std::optional<absl::Status> ServerStream::TakeNext() {
  const bool has_sent = !current_.empty();
  DropCurrent();
  bool is_drained = false;
  {
    MutexLock lock(call_->mutex_);
    is_drained = call_->outgoing_.empty() && !call_->status_.has_value();
  }
  // The handler may write more here, so outgoing_ is read again.
  if (has_sent && is_drained && handler_ != nullptr) handler_->OnWritten();
  MutexLock lock(call_->mutex_);
  if (call_->outgoing_.empty()) return call_->status_;
  current_ = std::move(call_->outgoing_.front().bytes);
  call_->outgoing_.pop_front();
  return std::nullopt;
}

void ServerStream::SubmitTrailers(const absl::Status& status) {
  const std::string code = GrpcCode(status.code());
  std::string text = StatusText(status);
  std::vector<nghttp2_nv> fields = {Field("grpc-status", code)};
  MutexLock lock(call_->mutex_);
  if (!call_->unread_bytes_->Reserve(text.size())) text.clear();
  if (!text.empty()) fields.push_back(Field("grpc-message", text));
  AddTo(fields, call_->trailing_);
  nghttp2_submit_trailer(session_.http2(), id_, fields.data(), fields.size());
  has_sent_status_ = true;
}

ssize_t ServerStream::ReadOutgoing(uint8_t* buffer, size_t size, uint32_t* flags) {
  if (sent_ == current_.size()) {
    if (const std::optional<absl::Status> status = TakeNext()) {
      SubmitTrailers(*status);
      *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
      return 0;
    }
    if (current_.empty()) return NGHTTP2_ERR_DEFERRED;
  }
  const size_t more = std::min(size, current_.size() - sent_);
  std::copy_n(current_.data() + sent_, more, buffer);
  sent_ += more;
  return static_cast<ssize_t>(more);
}

bool ServerStream::Reserve(size_t bytes) {
  if (reader_.Reserve(bytes)) return true;
  session_.server().log.Add(Limit::kUnfinishedBytes, session_.peer());
  return false;
}

}  // namespace gpuscaler
