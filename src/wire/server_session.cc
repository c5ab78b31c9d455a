#include "wire/server_session.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "wire/grpc_text.h"
#include "wire/header_field.h"
#include "wire/message_prefix.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// More than this is not prepared before the socket takes it.
constexpr size_t kPrepared = 64 << 10;
// After the first GOAWAY a PING follows: calls that are under way arrive before its answer, or
// within this time.
constexpr absl::Duration kLongestRoundTrip = absl::Seconds(1);
constexpr uint8_t kRoundTripPing[8] = {'g', 'o', 'a', 'w', 'a', 'y', 0, 0};
// With more frames than this that wait for the socket, a client is not read.
constexpr size_t kMostQueued = 100;
// Encoded it fits the 8 KiB of trailers that clients accept.
constexpr size_t kLongestStatusText = 2000;

timeval TimevalOf(absl::Duration duration) { return absl::ToTimeval(duration); }

std::string StatusText(const absl::Status& status) {
  absl::string_view text = status.message();
  if (text.size() <= kLongestStatusText) return PercentEncoded(text);
  size_t end = kLongestStatusText;
  while (end > 0 && (text[end] & 0xC0) == 0x80) --end;  // inside a UTF-8 character
  return PercentEncoded(absl::StrCat(text.substr(0, end), "..."));
}

}  // namespace

struct ServerSession::Stream {
  Stream(int32_t id, ServerSession& session)
      : id(id), reader(session.limits_.longest_message, session.address_.unfinished) {}

  const int32_t id;
  CallHeaders headers;
  size_t header_bytes = 0;  // as HTTP/2 counts a header list
  std::string content_type, encoding;
  absl::Status refused;         // before a handler was found
  std::optional<Limit> beyond;  // why it was refused
  MessageReader reader;
  std::shared_ptr<ServerCall> call;
  std::shared_ptr<ServerCall::Handler> handler;
  std::unique_ptr<event, Free> deadline;
  bool has_begun_answer = false;
  bool has_status = false;  // submitted
  bool client_is_done = false;
  std::string current;  // the message being sent, with its prefix
  size_t sent = 0;      // bytes of the message that have gone
};

// nghttp2's callbacks, which find the session in their user data.
struct SessionCallbacks {
  static ServerSession& Of(void* data) { return *static_cast<ServerSession*>(data); }

  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      Of(data).StartStream(frame->hd.stream_id);
    }
    return 0;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* data) {
    ServerSession::Stream* const stream = Of(data).Find(frame->hd.stream_id);
    if (stream == nullptr || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    Of(data).AddHeader(*stream, {reinterpret_cast<const char*>(name), name_size},
                       {reinterpret_cast<const char*>(value), value_size});
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    ServerSession& session = Of(data);
    const uint8_t type = frame->hd.type;
    if (type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 &&
        std::ranges::equal(frame->ping.opaque_data, kRoundTripPing)) {
      session.AcceptNoMore();
    }
    if (type == NGHTTP2_SETTINGS) return session.CountSettings();
    if (type == NGHTTP2_PING || type == NGHTTP2_PRIORITY ||
        (type == NGHTTP2_DATA && frame->hd.length == 0 &&
         (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0)) {
      return session.CountControlFrame();
    }
    if (type == NGHTTP2_RST_STREAM) return session.CountReset();
    if (type != NGHTTP2_HEADERS && type != NGHTTP2_DATA) return 0;
    ServerSession::Stream* stream = session.Find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if (type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      session.StartCallOf(*stream);
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
      stream->client_is_done = true;
      if (stream->handler == nullptr || stream->call->is_finished()) return 0;
      if (stream->reader.is_complete())
        stream->handler->OnLastMessage();
      else
        stream->call->Finish(absl::InternalError("the last message is not complete"));
    }
    return 0;
  }

  static int OnData(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size,
                    void* data) {
    ServerSession::Stream* const stream = Of(data).Find(id);
    if (stream == nullptr) return 0;
    Of(data).AddData(*stream, {reinterpret_cast<const char*>(bytes), size});
    return 0;
  }

  static int OnInvalidFrame(nghttp2_session*, const nghttp2_frame* frame, int, void* data) {
    ServerSession& session = Of(data);
    if (frame->hd.type == NGHTTP2_HEADERS && session.streams_.size() >= session.limits_.streams) {
      session.server_.log.Add(Limit::kStreams, session.peer_);
    }
    return 0;
  }

  static int OnFrameSent(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    // A client makes us reset streams just as it resets them itself.
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR &&
        frame->rst_stream.error_code != NGHTTP2_CANCEL) {
      return Of(data).CountReset();
    }
    Of(data).OnSent(*frame);
    return 0;
  }

  static int OnStreamClose(nghttp2_session*, int32_t id, uint32_t, void* data) {
    Of(data).EndStream(id);
    return 0;
  }

  static ssize_t ReadOutgoing(nghttp2_session*, int32_t id, uint8_t* buffer, size_t size,
                              uint32_t* flags, nghttp2_data_source*, void* data) {
    ServerSession::Stream* const stream = Of(data).Find(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return Of(data).ReadOutgoing(*stream, buffer, size, flags);
  }

  static nghttp2_session_callbacks* All() {
    static nghttp2_session_callbacks* const callbacks = [] {
      nghttp2_session_callbacks* all = nullptr;
      nghttp2_session_callbacks_new(&all);
      nghttp2_session_callbacks_set_on_begin_headers_callback(all, OnBeginHeaders);
      nghttp2_session_callbacks_set_on_header_callback(all, OnHeader);
      nghttp2_session_callbacks_set_on_frame_recv_callback(all, OnFrame);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(all, OnData);
      nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(all, OnInvalidFrame);
      nghttp2_session_callbacks_set_on_frame_send_callback(all, OnFrameSent);
      nghttp2_session_callbacks_set_on_stream_close_callback(all, OnStreamClose);
      return all;
    }();
    return callbacks;
  }
};

ServerSession::ServerSession(bufferevent* connection, std::string peer, ServerShare& server,
                             AddressShare& address, std::function<void(ServerSession*)> closed)
    : connection_(connection),
      peer_(std::move(peer)),
      server_(server),
      address_(address),
      limits_(server.limits),
      closed_(std::move(closed)),
      heard_at_(server.clock.Now()) {
  ++address_.handshakes;
  bufferevent_setcb(
      connection,
      [](bufferevent*, void* session) { static_cast<ServerSession*>(session)->OnReadable(); },
      [](bufferevent*, void* session) { static_cast<ServerSession*>(session)->OnWritable(); },
      [](bufferevent*, short what, void* session) {
        static_cast<ServerSession*>(session)->OnConnectionEvent(what);
      },
      this);
  bufferevent_enable(connection, EV_READ | EV_WRITE);
}

ServerSession::~ServerSession() {
  if (session_ == nullptr) --address_.handshakes;
  while (!streams_.empty()) EndStream(streams_.begin()->first);
}

bool ServerSession::ReadPreface() {
  evbuffer* const input = bufferevent_get_input(connection_.get());
  const size_t size = std::min(evbuffer_get_length(input), kPreface.size());
  char start[kPreface.size()];
  evbuffer_copyout(input, start, size);
  if (absl::string_view(start, size) != kPreface.substr(0, size)) {
    constexpr absl::string_view kPlainError =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n"
        "Content-Length: 41\r\n\r\nThis port serves gRPC, over HTTP/2 alone.\n";
    bufferevent_write(connection_.get(), kPlainError.data(), kPlainError.size());
    is_closing_ = true;
    return false;
  }
  if (size < kPreface.size()) return false;
  BeginHttp2();
  return true;
}

void ServerSession::BeginHttp2() {
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  // Ours is reached first.
  nghttp2_option_set_stream_reset_rate_limit(option, 2 * limits_.resets_at_once,
                                             2 * limits_.resets_per_second);
  nghttp2_option_set_max_continuations(option, limits_.continuations);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_session* session = nullptr;
  nghttp2_session_server_new2(&session, SessionCallbacks::All(), this, option);
  nghttp2_option_del(option);
  session_.reset(session);
  --address_.handshakes;
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits_.header_list_bytes},
      // Without the tree of priorities, which a client can make as deep as it has streams.
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings));
}

void ServerSession::OnReadable() {
  evbuffer* const input = bufferevent_get_input(connection_.get());
  if (is_closing_) {
    evbuffer_drain(input, evbuffer_get_length(input));
    return;
  }
  if (session_ == nullptr && !ReadPreface()) return CloseIfDone();
  heard_at_ = server_.clock.Now();
  is_asked_ = false;
  is_in_callback_ = true;
  while (const size_t size = evbuffer_get_contiguous_space(input)) {
    const ssize_t taken = nghttp2_session_mem_recv(
        session_.get(), evbuffer_pullup(input, static_cast<ssize_t>(size)), size);
    evbuffer_drain(input, size);
    if (taken >= 0) continue;
    if (taken == NGHTTP2_ERR_FLOODED) server_.log.Add(Limit::kControlFrames, peer_);
    if (taken == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS) {
      server_.log.Add(Limit::kContinuations, peer_);
    }
    // Unless nghttp2 has queued a GOAWAY with the reason.
    nghttp2_session_terminate_session(session_.get(), NGHTTP2_ENHANCE_YOUR_CALM);
    is_closing_ = true;
    break;
  }
  is_in_callback_ = false;
  Send();
}

void ServerSession::OnWritable() {
  if (session_ != nullptr) return Send();
  CloseIfDone();
}

void ServerSession::OnConnectionEvent(short what) {
  if ((what & BEV_EVENT_CONNECTED) != 0) return;
  if (session_ == nullptr && bufferevent_openssl_get_ssl(connection_.get()) != nullptr) {
    tls_error_ = bufferevent_get_openssl_error(connection_.get());
  }
  CloseNow();
}

// Fills the socket's buffer, not more: what waits stays in the calls, where newer messages replace
// it.
void ServerSession::Send() {
  if (is_in_callback_) return;
  evbuffer* const output = bufferevent_get_output(connection_.get());
  while (evbuffer_get_length(output) < kPrepared) {
    const uint8_t* bytes = nullptr;
    is_in_callback_ = true;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
    is_in_callback_ = false;
    if (size < 0) return CloseNow();
    if (size == 0) break;
    bufferevent_write(connection_.get(), bytes, static_cast<size_t>(size));
  }
  Throttle();
  CloseIfDone();
}

void ServerSession::Throttle() {
  const bool is_behind =
      evbuffer_get_length(bufferevent_get_output(connection_.get())) >= kPrepared &&
      nghttp2_session_get_outbound_queue_size(session_.get()) > kMostQueued;
  if (std::exchange(is_throttled_, is_behind) == is_behind) return;
  if (is_behind)
    bufferevent_disable(connection_.get(), EV_READ);
  else
    bufferevent_enable(connection_.get(), EV_READ);
}

void ServerSession::CloseIfDone() {
  const bool is_done = session_ == nullptr
                           ? is_closing_
                           : is_closing_ || (!nghttp2_session_want_read(session_.get()) &&
                                             !nghttp2_session_want_write(session_.get()));
  if (is_done && evbuffer_get_length(bufferevent_get_output(connection_.get())) == 0) CloseNow();
}

void ServerSession::BeginToClose() {
  if (session_ == nullptr) return CloseNow();
  if (close_timer_ != nullptr) return;
  nghttp2_submit_shutdown_notice(session_.get());
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, kRoundTripPing);
  close_timer_.reset(evtimer_new(
      server_.loop.base(),
      [](int, short, void* data) {
        ServerSession& session = *static_cast<ServerSession*>(data);
        session.AcceptNoMore();
        session.Send();
      },
      this));
  const timeval later = TimevalOf(kLongestRoundTrip);
  evtimer_add(close_timer_.get(), &later);
  Send();
}

void ServerSession::AcceptNoMore() {
  if (close_timer_ == nullptr || std::exchange(accepts_no_more_, true)) return;
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_.get()), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

void ServerSession::CloseNow() {
  const auto closed = closed_;  // which goes with the session
  closed(this);
}

void ServerSession::CloseBeyond(Limit limit) {
  server_.log.Add(limit, peer_);
  CloseNow();
}

void ServerSession::LookAfter() {
  const absl::Duration silent = server_.clock.Now() - heard_at_;
  if (session_ == nullptr) {
    if (silent >= limits_.handshake) CloseBeyond(Limit::kHandshakeTimeout);
    return;
  }
  if (silent >= limits_.keepalive + limits_.keepalive_timeout)
    return CloseBeyond(Limit::kKeepalive);
  if (silent < limits_.keepalive || is_asked_) return;
  is_asked_ = true;
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
  Send();
}

bool ServerSession::HasCertificate() const {
  const SSL* const tls = bufferevent_openssl_get_ssl(connection_.get());
  return tls != nullptr && SSL_get0_peer_certificate(tls) != nullptr;
}

ServerSession::Stream* ServerSession::Find(int32_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

void ServerSession::StartStream(int32_t id) {
  auto stream = std::make_unique<Stream>(id, *this);
  stream->headers.peer = peer_;
  stream->headers.has_certificate = HasCertificate();
  streams_[id] = std::move(stream);
  ++address_.streams;
  ++server_.streams;
}

void ServerSession::AddHeader(Stream& stream, absl::string_view name, absl::string_view value) {
  constexpr size_t kPerField = 32;  // RFC 9113, section 6.5.2
  stream.header_bytes += name.size() + value.size() + kPerField;
  if (stream.header_bytes > limits_.header_list_bytes) {
    stream.beyond = Limit::kHeaderList;
    stream.refused = absl::ResourceExhaustedError(
        absl::StrCat("the headers are larger than ", limits_.header_list_bytes, " bytes"));
    return;
  }
  if (name == ":path") {
    stream.headers.path = std::string(value);
  } else if (name == ":method") {
    if (value != "POST") stream.refused = absl::UnimplementedError("gRPC calls are POST requests");
  } else if (name == "content-type") {
    stream.content_type = std::string(value);
  } else if (name == "grpc-encoding") {
    stream.encoding = std::string(value);
  } else if (name == "grpc-timeout") {
    const std::optional<absl::Duration> timeout = ParseGrpcTimeout(value);
    if (timeout.has_value())
      stream.headers.deadline = absl::Now() + *timeout;
    else
      stream.refused = absl::InternalError("grpc-timeout is not a duration");
  } else if (!absl::StartsWith(name, ":") && !IsOfTransport(name)) {
    if (stream.headers.metadata.size() >= limits_.metadata_keys) {
      stream.beyond = Limit::kMetadataKeys;
      stream.refused = absl::ResourceExhaustedError("too many metadata keys");
      return;
    }
    stream.headers.metadata.emplace(name, value);
  }
}

absl::Status ServerSession::CheckStart(Stream& stream) {
  if (!stream.refused.ok()) return stream.refused;
  if (address_.streams > limits_.streams_per_address) {
    stream.beyond = Limit::kStreamsPerAddress;
    return absl::ResourceExhaustedError("too many calls of this address are open");
  }
  if (server_.streams > limits_.streams_in_all) {
    stream.beyond = Limit::kStreams;
    return absl::ResourceExhaustedError("too many calls are open");
  }
  if (!stream.reader.Keep(stream.header_bytes)) {
    stream.beyond = Limit::kUnfinishedBytes;
    return absl::ResourceExhaustedError("too many calls have large headers; try again");
  }
  if (!stream.encoding.empty() && stream.encoding != "identity") {
    return absl::UnimplementedError(
        absl::StrCat("grpc-encoding ", stream.encoding, " is not accepted"));
  }
  if (server_.methods.find(stream.headers.path) == server_.methods.end()) {
    return absl::UnimplementedError(absl::StrCat("there is no method ", stream.headers.path));
  }
  return absl::OkStatus();
}

void ServerSession::StartCallOf(Stream& stream) {
  if (stream.refused.ok() && !absl::StartsWith(stream.content_type, "application/grpc")) {
    const nghttp2_nv fields[] = {Field(":status", "415")};
    nghttp2_submit_response(session_.get(), stream.id, fields, std::size(fields), nullptr);
    stream.headers = {};
    stream.has_status = true;
    return;
  }
  if (const absl::Status status = CheckStart(stream); !status.ok()) {
    if (stream.beyond.has_value()) server_.log.Add(*stream.beyond, peer_);
    stream.headers = {};
    return Refuse(stream, status);
  }
  const auto method = server_.methods.find(stream.headers.path);
  const absl::Time deadline = stream.headers.deadline;
  stream.call = std::make_shared<ServerCall>(std::move(stream.headers), server_.loop);
  stream.call->session_ = this;
  stream.call->stream_id_ = stream.id;
  if (deadline != absl::InfiniteFuture()) {
    stream.deadline.reset(evtimer_new(
        server_.loop.base(),
        [](int, short, void* data) {
          const ServerCall& expired = *static_cast<Stream*>(data)->call;
          expired.session_->FinishNow(
              expired, absl::DeadlineExceededError("the call's deadline has passed"));
        },
        &stream));
    const timeval left = TimevalOf(std::max(absl::ZeroDuration(), deadline - absl::Now()));
    evtimer_add(stream.deadline.get(), &left);
  }
  stream.handler = method->second(stream.call);
}

void ServerSession::AddData(Stream& stream, absl::string_view bytes) {
  if (stream.handler == nullptr || stream.has_status) return;
  const absl::Status read = stream.reader.Add(bytes, [&](std::string message) {
    if (!stream.call->is_finished()) stream.handler->OnMessage(std::move(message));
  });
  if (read.ok()) return;
  if (read.code() == absl::StatusCode::kResourceExhausted) {
    server_.log.Add(stream.reader.is_too_long() ? Limit::kMessageSize : Limit::kUnfinishedBytes,
                    peer_);
  }
  stream.call->Finish(read);
  stream.handler->OnEnd();
  stream.handler = nullptr;
}

void ServerSession::EndStream(int32_t id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  const std::unique_ptr<Stream> stream = std::move(found->second);
  streams_.erase(found);
  --address_.streams;
  --server_.streams;
  if (stream->call != nullptr) stream->call->Abandon();
  if (stream->handler != nullptr) stream->handler->OnEnd();
}

// A status cannot overtake a message that the client does not take, nor one without a window to
// send it.
void ServerSession::FinishNow(const ServerCall& call, const absl::Status& status) {
  Stream* const stream = Find(call.stream_id_);
  if (stream == nullptr) return;
  {
    MutexLock lock(stream->call->mutex_);
    // An OK without its message would be no answer.
    const bool drops_messages = !std::exchange(stream->call->outgoing_, {}).empty();
    if (drops_messages && stream->call->status_.has_value()) stream->call->status_ = status;
  }
  stream->call->Finish(status);
  if (stream->handler != nullptr) stream->handler->OnEnd();
  stream->handler = nullptr;
  if (stream->sent == stream->current.size() &&
      (!stream->has_begun_answer ||
       (nghttp2_session_get_stream_remote_window_size(session_.get(), stream->id) > 0 &&
        nghttp2_session_get_remote_window_size(session_.get()) > 0))) {
    return;
  }
  stream->current = {};
  stream->sent = 0;
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_CANCEL);
  Send();
}

void ServerSession::Refuse(Stream& stream, const absl::Status& status) {
  const std::string code = GrpcCode(status.code()), text = StatusText(status);
  std::vector<nghttp2_nv> fields = {Field(":status", "200"),
                                    Field("content-type", "application/grpc")};
  if (stream.call != nullptr) {
    MutexLock lock(stream.call->mutex_);
    AddTo(fields, stream.call->initial_);
    AddTo(fields, stream.call->trailing_);
  }
  fields.push_back(Field("grpc-status", code));
  fields.push_back(Field("grpc-message", text));
  nghttp2_submit_response(session_.get(), stream.id, fields.data(), fields.size(), nullptr);
  stream.has_begun_answer = stream.has_status = true;
}

void ServerSession::SubmitHeaders(Stream& stream) {
  std::vector<nghttp2_nv> fields = {Field(":status", "200"),
                                    Field("content-type", "application/grpc"),
                                    Field("grpc-accept-encoding", "identity")};
  MutexLock lock(stream.call->mutex_);
  AddTo(fields, stream.call->initial_);
  nghttp2_data_provider provider = {.source = {}, .read_callback = SessionCallbacks::ReadOutgoing};
  nghttp2_submit_response(session_.get(), stream.id, fields.data(), fields.size(), &provider);
  stream.has_begun_answer = true;
}

void ServerSession::Flush(ServerCall& call) {
  Stream* const stream = Find(call.stream_id_);
  if (stream == nullptr || stream->has_status) return;
  std::optional<absl::Status> status;
  bool has_messages = false, sends_headers = false;
  {
    MutexLock lock(call.mutex_);
    call.is_woken_ = false;
    status = call.status_;
    has_messages = !call.outgoing_.empty();
    sends_headers = call.sends_headers_;
  }
  control_frames_ = 0;
  if (stream->has_begun_answer) {
    nghttp2_session_resume_data(session_.get(), stream->id);
  } else if (!has_messages && !sends_headers && status.has_value()) {
    Refuse(*stream, *status);
  } else if (has_messages || sends_headers) {
    SubmitHeaders(*stream);
  }
  Send();
}

ssize_t ServerSession::ReadOutgoing(Stream& stream, uint8_t* buffer, size_t size, uint32_t* flags) {
  if (stream.sent == stream.current.size()) {
    const bool has_sent = !stream.current.empty();
    stream.current = {};
    stream.sent = 0;
    bool is_last = false;
    {
      MutexLock lock(stream.call->mutex_);
      is_last = stream.call->outgoing_.empty() && !stream.call->status_.has_value();
    }
    if (has_sent && is_last && stream.handler != nullptr) stream.handler->OnWritten();
    std::optional<absl::Status> status;
    {
      MutexLock lock(stream.call->mutex_);
      if (!stream.call->outgoing_.empty()) {
        stream.current = Prefixed(stream.call->outgoing_.front().bytes);
        stream.call->outgoing_.pop_front();
      } else {
        status = stream.call->status_;
      }
    }
    if (stream.current.empty() && !status.has_value()) return NGHTTP2_ERR_DEFERRED;
    if (status.has_value()) {
      const std::string code = GrpcCode(status->code()), text = StatusText(*status);
      std::vector<nghttp2_nv> fields = {Field("grpc-status", code)};
      if (!text.empty()) fields.push_back(Field("grpc-message", text));
      MutexLock lock(stream.call->mutex_);
      AddTo(fields, stream.call->trailing_);
      nghttp2_submit_trailer(session_.get(), stream.id, fields.data(), fields.size());
      stream.has_status = true;
      *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
      return 0;
    }
  }
  const size_t more = std::min(size, stream.current.size() - stream.sent);
  std::copy_n(stream.current.data() + stream.sent, more, buffer);
  stream.sent += more;
  return static_cast<ssize_t>(more);
}

bool ServerSession::Keep(const ServerCall& call, size_t bytes) {
  Stream* const stream = Find(call.stream_id_);
  if (stream == nullptr) return false;
  if (stream->reader.Keep(bytes)) return true;
  server_.log.Add(Limit::kUnfinishedBytes, peer_);
  return false;
}

void ServerSession::Release(const ServerCall& call, size_t bytes) {
  if (Stream* const stream = Find(call.stream_id_)) stream->reader.Release(bytes);
}

int ServerSession::CountControlFrame() {
  if (++control_frames_ <= limits_.pings_and_settings) return 0;
  server_.log.Add(Limit::kControlFrames, peer_);
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int ServerSession::CountSettings() {
  constexpr double kStreamsPerToken = 100;
  const double tokens = static_cast<double>(streams_.size()) / kStreamsPerToken;
  if (address_.settings.Take(server_.clock.Now(), tokens)) return CountControlFrame();
  server_.log.Add(Limit::kControlFrames, peer_);
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int ServerSession::CountReset() {
  if (address_.resets.Take(server_.clock.Now())) return 0;
  server_.log.Add(Limit::kResets, peer_);
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

// After the answer's end nothing of the client's counts any more: else one that never ends its side
// would have the stream for ever.
void ServerSession::OnSent(const nghttp2_frame& frame) {
  if (frame.hd.type != NGHTTP2_HEADERS || (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  const Stream* const stream = Find(frame.hd.stream_id);
  if (stream == nullptr || stream->client_is_done) return;
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream->id, NGHTTP2_NO_ERROR);
}

}  // namespace gpuscaler
