#include "wire/client_session.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/duration_text.h"
#include "wire/grpc_text.h"
#include "wire/header_field.h"
#include "wire/message_prefix.h"
#include "wire/message_reader.h"

namespace gpuscaler {
namespace {

// More than this is not prepared before the socket takes it.
constexpr size_t kMostPrepared = 64 << 10;
// A reader that pauses keeps as much at most.
constexpr uint32_t kStreamWindow = 256 << 10;
constexpr int32_t kConnectionWindow = 1 << 20;
constexpr size_t kChunk = 16 << 10;  // delivered before a pause is looked at
constexpr uint32_t kHeaderListBytes = 16 << 10;
constexpr int kContinuations = 8;
constexpr int kUselessFrames = 1'000;
constexpr size_t kLongestGoodbye = 100;

// Returns what a server speaks instead of HTTP/2. Empty: nothing that is known.
absl::string_view OtherProtocol(absl::string_view start) {
  if (absl::StartsWith(start, "HTTP/1.")) return "the server speaks HTTP/1, and no gRPC";
  // The records of TLS are 20 to 23, and an alert is 21; then its version follows.
  if (absl::StartsWith(start, "\x15\x03")) return "the server needs TLS";
  return "";
}

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

struct ClientSession::Stream {
  Stream(int32_t id, const std::shared_ptr<ClientCall>& call)
      : id(id),
        call(call),
        budget(call->options_.longest_message),
        reader(call->options_.longest_message, budget) {}

  const int32_t id;
  const std::shared_ptr<ClientCall> call;
  size_t header_bytes = 0;  // all header blocks together, as HTTP/2 counts a list
  int http_status = 0;      // 0: the final headers have not come
  bool has_headers = false;
  CallMetadata fields;  // the block that is being read
  std::string content_type, grpc_status, grpc_message;
  MessageBudget budget;
  MessageReader reader;
  std::deque<std::string> waiting;  // messages, while the reader pauses
  std::string held;                 // bytes behind them, a window's at most
  bool server_is_done = false;
  bool has_sent_all = false;
  std::string current;  // the message being sent, with its prefix
  size_t sent = 0;      // bytes of it that have gone
};

// nghttp2's callbacks, which find the session in their user data.
struct ClientCallbacks {
  static ClientSession& Of(void* data) { return *static_cast<ClientSession*>(data); }

  // nghttp2 resets promised streams, as many as the server promises.
  static int OnBeginFrame(nghttp2_session*, const nghttp2_frame_hd* header, void* data) {
    if (header->type != NGHTTP2_PUSH_PROMISE) return 0;
    Of(data).violation_ = "the server pushes";
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* data) {
    ClientSession::Stream* const stream = Of(data).Find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    Of(data).AddHeader(*stream, {reinterpret_cast<const char*>(name), name_size},
                       {reinterpret_cast<const char*>(value), value_size});
    return 0;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    ClientSession& session = Of(data);
    const uint8_t type = frame->hd.type;
    const bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (type == NGHTTP2_SETTINGS && !std::exchange(session.has_settings_, true)) {
      session.LookAgainAfter(session.target_.keepalive);
    }
    if (type == NGHTTP2_GOAWAY) {
      session.accepts_calls_ = false;
      const size_t size = std::min(frame->goaway.opaque_data_len, kLongestGoodbye);
      session.goodbye_ =
          absl::CHexEscape({reinterpret_cast<const char*>(frame->goaway.opaque_data), size});
    }
    const bool is_data = type == NGHTTP2_DATA && (frame->hd.length > 0 || is_last);
    if (type == NGHTTP2_HEADERS || is_data) session.useless_frames_ = 0;
    if (type != NGHTTP2_HEADERS && !is_data && type != NGHTTP2_WINDOW_UPDATE &&
        ++session.useless_frames_ > kUselessFrames) {
      session.violation_ = "the server sends too many empty frames";
      return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    ClientSession::Stream* const stream = session.Find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if (type == NGHTTP2_HEADERS) {
      session.EndHeaders(*stream, is_last);
    } else if (type == NGHTTP2_DATA && is_last) {
      session.ServerIsDone(*stream);
    }
    return 0;
  }

  static int OnData(nghttp2_session* http2, uint8_t, int32_t id, const uint8_t* bytes, size_t size,
                    void* data) {
    nghttp2_session_consume_connection(http2, size);
    ClientSession::Stream* const stream = Of(data).Find(id);
    if (stream == nullptr) return 0;
    Of(data).AddData(*stream, {reinterpret_cast<const char*>(bytes), size});
    return 0;
  }

  static int OnStreamClose(nghttp2_session*, int32_t id, uint32_t error, void* data) {
    Of(data).OnStreamClose(id, error);
    return 0;
  }

  static ssize_t ReadOutgoing(nghttp2_session*, int32_t id, uint8_t* buffer, size_t size,
                              uint32_t* flags, nghttp2_data_source*, void* data) {
    ClientSession::Stream* const stream = Of(data).Find(id);
    if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return Of(data).ReadOutgoing(*stream, buffer, size, flags);
  }

  static nghttp2_session_callbacks* All() {
    static nghttp2_session_callbacks* const callbacks = [] {
      nghttp2_session_callbacks* all = nullptr;
      nghttp2_session_callbacks_new(&all);
      nghttp2_session_callbacks_set_on_begin_frame_callback(all, OnBeginFrame);
      nghttp2_session_callbacks_set_on_header_callback(all, OnHeader);
      nghttp2_session_callbacks_set_on_frame_recv_callback(all, OnFrame);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(all, OnData);
      nghttp2_session_callbacks_set_on_stream_close_callback(all, OnStreamClose);
      return all;
    }();
    return callbacks;
  }
};

ClientSession::ClientSession(Connection connection, EventLoop& loop, const Target& target,
                             std::function<void()> closed)
    : loop_(loop), target_(target), closed_(std::move(closed)), connection_(std::move(connection)) {
  BeginHttp2();
  timer_.reset(evtimer_new(
      loop_.base(),
      [](int, short, void* session) { static_cast<ClientSession*>(session)->LookAfter(); }, this));
  LookAgainAfter(target_.connect_timeout);
  bufferevent_setcb(
      connection_.get(),
      [](bufferevent*, void* session) { static_cast<ClientSession*>(session)->OnReadable(); },
      [](bufferevent*, void* session) { static_cast<ClientSession*>(session)->Send(); },
      [](bufferevent*, short what, void* session) {
        static_cast<ClientSession*>(session)->OnConnectionEvent(what);
      },
      this);
  bufferevent_enable(connection_.get(), EV_READ | EV_WRITE);
}

ClientSession::~ClientSession() {
  is_in_callback_ = true;
  while (!streams_.empty()) {
    EndCall(*streams_.begin()->second,
            {.status = absl::CancelledError("the caller has closed the channel")});
  }
}

void ClientSession::BeginHttp2() {
  nghttp2_option* option = nullptr;
  nghttp2_option_new(&option);
  nghttp2_option_set_no_auto_window_update(option, 1);
  nghttp2_option_set_max_continuations(option, kContinuations);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_session* session = nullptr;
  nghttp2_session_client_new2(&session, ClientCallbacks::All(), this, option);
  nghttp2_option_del(option);
  session_.reset(session);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, kHeaderListBytes}};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

void ClientSession::Open(const std::shared_ptr<ClientCall>& call) {
  const std::string authority = AuthorityOf(target_);
  std::vector<nghttp2_nv> fields = {Field(":method", "POST"),
                                    Field(":scheme", target_.tls == nullptr ? "http" : "https"),
                                    Field(":path", call->method_),
                                    Field(":authority", authority),
                                    Field("te", "trailers"),
                                    Field("content-type", "application/grpc"),
                                    Field("user-agent", "grpc-c++-keda-gpu-scaler/1.0"),
                                    Field("grpc-accept-encoding", "identity")};
  std::string timeout;
  if (call->options_.timeout != absl::InfiniteDuration()) {
    timeout = GrpcTimeout(call->deadline_ - absl::Now());
    fields.push_back(Field("grpc-timeout", timeout));
  }
  AddTo(fields, call->options_.metadata);
  nghttp2_data_provider provider = {.source = {}, .read_callback = ClientCallbacks::ReadOutgoing};
  const int32_t id = nghttp2_submit_request(session_.get(), nullptr, fields.data(), fields.size(),
                                            &provider, nullptr);
  if (id < 0) {
    accepts_calls_ = false;  // all of its 2^30 streams are used
    return call->End({.status = absl::UnavailableError(absl::StrCat(
                          "no call can begin on the connection to ", target_.address))});
  }
  call->session_ = this;
  call->stream_id_ = id;
  streams_[id] = std::make_unique<Stream>(id, call);
  Send();
}

void ClientSession::OnReadable() {
  heard_at_ = std::chrono::steady_clock::now();
  is_asked_ = false;
  evbuffer* const input = bufferevent_get_input(connection_.get());
  ssize_t taken = 0;
  is_in_callback_ = true;
  while (const size_t size = evbuffer_get_contiguous_space(input)) {
    const uint8_t* const bytes = evbuffer_pullup(input, static_cast<ssize_t>(size));
    if (!has_settings_ && start_.size() < 8) {
      start_.append(reinterpret_cast<const char*>(bytes), std::min<size_t>(size, 8));
    }
    taken = nghttp2_session_mem_recv(session_.get(), bytes, size);
    evbuffer_drain(input, size);
    if (taken < 0) break;
  }
  is_in_callback_ = false;
  if (taken == NGHTTP2_ERR_CALLBACK_FAILURE) return Lose(violation_);
  if (taken < 0) {
    return Lose(nghttp2_strerror(static_cast<int>(taken)),
                {.is_other_protocol = target_.tls == nullptr});
  }
  Send();
}

void ClientSession::OnConnectionEvent(short what) {
  if ((what & BEV_EVENT_CONNECTED) != 0) return;
  const int system_error = EVUTIL_SOCKET_ERROR();
  const unsigned long error = bufferevent_get_openssl_error(connection_.get());
  if (ERR_GET_LIB(error) == ERR_LIB_SSL &&
      ERR_GET_REASON(error) != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    const TlsFault fault = TlsFaultOf(bufferevent_openssl_get_ssl(connection_.get()), error);
    return Lose(absl::StrCat("TLS: ", fault.text), {.handshake = fault.fault});
  }
  const std::string why = (what & BEV_EVENT_ERROR) != 0 && system_error != 0
                              ? std::strerror(system_error)
                              : "the server has closed it";
  if (target_.tls == nullptr) return Lose(why, {.is_other_protocol = true});
  if (has_settings_) return Lose(why);
  // In TLS 1.3 the client's handshake ends before the server has seen its certificate; the alert is
  // lost if the server resets the connection, and Debian's gRPC sends none.
  Lose(absl::StrCat(why, " after the TLS handshake, as if it refused the client's certificate"),
       {.handshake = HandshakeFault::kTurnedAway});
}

void ClientSession::LookAgainAfter(absl::Duration duration) {
  const timeval later = absl::ToTimeval(duration);
  evtimer_add(timer_.get(), &later);
}

void ClientSession::LookAfter() {
  if (!has_settings_) return Lose("no answer");
  const absl::Duration silent = absl::FromChrono(std::chrono::steady_clock::now() - heard_at_);
  if (streams_.empty()) {
    is_asked_ = false;
    return LookAgainAfter(target_.keepalive);
  }
  if (silent < target_.keepalive) return LookAgainAfter(target_.keepalive - silent);
  if (is_asked_) {
    return Lose(absl::StrCat("no answer to a ping for ", DurationText(target_.keepalive_timeout)));
  }
  is_asked_ = true;
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
  LookAgainAfter(target_.keepalive_timeout);
  Send();
}

// Fills the socket's buffer, not more: what waits stays in the calls, where newer messages replace
// it.
void ClientSession::Send() {
  if (is_in_callback_) return;
  evbuffer* const output = bufferevent_get_output(connection_.get());
  while (evbuffer_get_length(output) < kMostPrepared) {
    const uint8_t* bytes = nullptr;
    is_in_callback_ = true;
    const ssize_t size = nghttp2_session_mem_send(session_.get(), &bytes);
    is_in_callback_ = false;
    if (size < 0) return Lose(nghttp2_strerror(static_cast<int>(size)));
    if (size == 0) break;
    bufferevent_write(connection_.get(), bytes, static_cast<size_t>(size));
  }
  if (evbuffer_get_length(output) > 0) return;
  const bool wants_any = nghttp2_session_want_read(session_.get()) != 0 ||
                         nghttp2_session_want_write(session_.get()) != 0;
  if (!wants_any && accepts_calls_) return Lose("the server violates HTTP/2");
  if (!wants_any || (!accepts_calls_ && streams_.empty())) Lose("the server has ended it");
}

void ClientSession::Lose(absl::string_view why, const ConnectFault& fault) {
  std::optional<ConnectFault> connect_fault;
  std::string text;
  if (has_settings_) {
    text = absl::StrCat("the connection to ", target_.address, " is lost: ", why);
    if (!goodbye_.empty()) absl::StrAppend(&text, " (\"", goodbye_, "\")");
  } else {
    const absl::string_view other = OtherProtocol(start_);
    text = absl::StrCat("cannot connect to ", target_.address, ": ", other.empty() ? why : other);
    connect_fault = fault;
  }
  is_in_callback_ = true;
  while (!streams_.empty()) {
    EndCall(*streams_.begin()->second,
            {.status = absl::UnavailableError(text), .connect_fault = connect_fault});
  }
  const auto closed = closed_;  // which goes with the session
  closed();
}

ClientSession::Stream* ClientSession::Find(int32_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

void ClientSession::AddHeader(Stream& stream, absl::string_view name, absl::string_view value) {
  constexpr size_t kPerField = 32;  // RFC 9113, section 6.5.2
  stream.header_bytes += name.size() + value.size() + kPerField;
  if (stream.header_bytes > kHeaderListBytes) {
    return Fail(stream, absl::ResourceExhaustedError(absl::StrCat(
                            "the answer's headers are larger than ", kHeaderListBytes, " bytes")));
  }
  if (name == ":status") {
    if (!absl::SimpleAtoi(value, &stream.http_status)) stream.http_status = 0;
  } else if (name == "content-type") {
    stream.content_type = std::string(value);
  } else if (name == "grpc-status") {
    stream.grpc_status = std::string(value);
  } else if (name == "grpc-message") {
    stream.grpc_message = std::string(value);
  } else if (!absl::StartsWith(name, ":") && !IsOfTransport(name)) {
    stream.fields.emplace(name, value);
  }
}

void ClientSession::EndHeaders(Stream& stream, bool is_last) {
  if (is_last) return ServerIsDone(stream);
  CallMetadata fields = std::exchange(stream.fields, {});
  if (stream.has_headers || stream.http_status / 100 == 1) return;
  stream.has_headers = true;
  if (stream.http_status != 200) return Fail(stream, StatusOfHttp(stream.http_status));
  if (!absl::StartsWith(stream.content_type, "application/grpc")) {
    return Fail(stream, absl::UnknownError(absl::StrCat("the answer's content-type is \"",
                                                        absl::CHexEscape(stream.content_type),
                                                        "\", and not application/grpc")));
  }
  stream.call->listener_.OnHeaders(fields);
}

void ClientSession::AddData(Stream& stream, absl::string_view bytes) {
  if (stream.call->is_paused_ || !stream.waiting.empty() || !stream.held.empty()) {
    stream.held.append(bytes.data(), bytes.size());
    return;
  }
  Deliver(stream, bytes);
}

bool ClientSession::Deliver(Stream& stream, absl::string_view bytes) {
  const absl::Status read = stream.reader.Add(bytes, [&](std::string message) {
    if (stream.call->is_paused_)
      stream.waiting.push_back(std::move(message));
    else
      stream.call->listener_.OnMessage(std::move(message));
  });
  if (!read.ok()) {
    Fail(stream, read);
    return false;
  }
  nghttp2_session_consume_stream(session_.get(), stream.id, bytes.size());
  return true;
}

void ClientSession::Resume(ClientCall& call) {
  Stream* const stream = Find(call.stream_id_);
  if (stream == nullptr) return;
  while (!call.is_paused_ && !(stream->waiting.empty() && stream->held.empty())) {
    if (!stream->waiting.empty()) {
      std::string message = std::move(stream->waiting.front());
      stream->waiting.pop_front();
      call.listener_.OnMessage(std::move(message));
      continue;
    }
    const std::string bytes = stream->held.substr(0, kChunk);
    stream->held.erase(0, bytes.size());
    if (!Deliver(*stream, bytes)) return Send();
  }
  if (!call.is_paused_ && stream->server_is_done) ServerIsDone(*stream);
  Send();
}

void ClientSession::ServerIsDone(Stream& stream) {
  stream.server_is_done = true;
  if (!stream.waiting.empty() || !stream.held.empty()) return;  // until Resume()
  absl::Status status;
  if (!stream.grpc_status.empty()) {
    status = StatusOfTrailers(stream.grpc_status, stream.grpc_message);
    if (status.ok() && !stream.reader.is_complete()) {
      status = absl::InternalError("the last message is not complete");
    }
  } else if (stream.http_status != 200) {
    status = StatusOfHttp(stream.http_status);
  } else {
    status = absl::UnknownError("the answer ends without grpc-status");
  }
  if (!stream.has_sent_all) {
    nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_NO_ERROR);
  }
  EndCall(stream, {.status = status, .trailers = std::move(stream.fields)});
}

void ClientSession::OnStreamClose(int32_t id, uint32_t error) {
  Stream* const stream = Find(id);
  if (stream == nullptr || stream->server_is_done) return;
  // The server's own timer may be the first.
  if (error == NGHTTP2_CANCEL && absl::Now() >= stream->call->deadline_) {
    return EndCall(*stream, {.status = stream->call->DeadlineStatus()});
  }
  const std::string text =
      error == NGHTTP2_REFUSED_STREAM && !accepts_calls_
          ? absl::StrCat(target_.address, " is shutting down")
          : absl::StrCat("the server has reset the call (", nghttp2_http2_strerror(error), ")");
  EndCall(*stream, {.status = absl::Status(CodeOfReset(error), text)});
}

void ClientSession::Fail(Stream& stream, const absl::Status& status) {
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_CANCEL);
  EndCall(stream, {.status = status});
}

// The stream is gone afterwards.
void ClientSession::EndCall(Stream& stream, const CallEnd& end) {
  const std::shared_ptr<ClientCall> call = stream.call;
  // `end` may be a part of the stream.
  const auto ended = streams_.extract(stream.id);
  call->End(end);
}

void ClientSession::Flush(ClientCall& call) {
  nghttp2_session_resume_data(session_.get(), call.stream_id_);
  Send();
}

void ClientSession::Reset(int32_t stream_id) {
  streams_.erase(stream_id);
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, stream_id, NGHTTP2_CANCEL);
  Send();
}

ssize_t ClientSession::ReadOutgoing(Stream& stream, uint8_t* buffer, size_t size, uint32_t* flags) {
  if (stream.sent == stream.current.size()) {
    stream.current.clear();
    stream.sent = 0;
    MutexLock lock(stream.call->mutex_);
    if (!stream.call->outgoing_.empty()) {
      stream.current = Prefixed(stream.call->outgoing_.front().bytes);
      stream.call->outgoing_.pop_front();
    } else if (stream.call->writes_are_done_) {
      stream.has_sent_all = true;
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      return 0;
    } else {
      return NGHTTP2_ERR_DEFERRED;
    }
  }
  const size_t more = std::min(size, stream.current.size() - stream.sent);
  std::copy_n(stream.current.data() + stream.sent, more, buffer);
  stream.sent += more;
  return static_cast<ssize_t>(more);
}

}  // namespace gpuscaler
