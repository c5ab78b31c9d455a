#include "wire/client_session.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/duration_text.h"
#include "wire/session_memory.h"
#include "wire/tls_messages.h"

namespace gpuscaler {
namespace {

// A reader that pauses keeps as much at most.
constexpr uint32_t kStreamWindow = 256 << 10;
constexpr int32_t kConnectionWindow = 1 << 20;
constexpr int kContinuations = 8;
constexpr int kUselessFrames = 1'000;
constexpr absl::string_view kFlooded = "the server sends too many empty frames";
constexpr size_t kLongestGoawayText = 100;

// `start` is the server's first bytes. Empty: they are of no known protocol.
absl::string_view OtherProtocol(absl::string_view start) {
  if (absl::StartsWith(start, "HTTP/1.")) return "the server has HTTP/1 and no gRPC";
  // The records of TLS are 20 to 23, and an alert is 21; then its version follows.
  if (absl::StartsWith(start, "\x15\x03")) return "the server needs TLS";
  return "";
}

}  // namespace

// nghttp2's callbacks, which find the session in their user data.
struct ClientCallbacks {
  static ClientSession& Of(void* data) { return *static_cast<ClientSession*>(data); }

  // nghttp2 resets promised streams, as many as the server promises.
  static int OnBeginFrame(nghttp2_session*, const nghttp2_frame_hd* header, void* data) {
    if (header->type == NGHTTP2_CONTINUATION) Of(data).allowance_.Earn(1);
    if (header->type != NGHTTP2_PUSH_PROMISE) return 0;
    Of(data).violation_ = "the server pushes";
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* data) {
    if (const int error = CountHeader(frame, name_size + value_size, data)) return error;
    Of(data)
        .Find(frame->hd.stream_id)
        ->AddHeader({reinterpret_cast<const char*>(name), name_size},
                    {reinterpret_cast<const char*>(value), value_size});
    return 0;
  }

  // nghttp2 leaves the field out.
  static int OnInvalidHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t*,
                             size_t name_size, const uint8_t*, size_t value_size, uint8_t,
                             void* data) {
    return CountHeader(frame, name_size + value_size, data);
  }

  // nghttp2 decodes the rest of the headers of a call that has ended, but does not check them.
  static int CountHeader(const nghttp2_frame* frame, size_t bytes, void* data) {
    ClientStream* const stream = Of(data).Find(frame->hd.stream_id);
    const bool continues = stream != nullptr && stream->CountHeader(bytes);
    return continues ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    ClientSession& session = Of(data);
    const uint8_t type = frame->hd.type;
    const bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (type == NGHTTP2_SETTINGS && !std::exchange(session.has_settings_, true)) {
      SetTimer(session.timer_, session.target_.keepalive);
    }
    if (type == NGHTTP2_GOAWAY) {
      session.accepts_calls_ = false;
      const size_t size = std::min(frame->goaway.opaque_data_len, kLongestGoawayText);
      session.goaway_text_ =
          absl::CHexEscape({reinterpret_cast<const char*>(frame->goaway.opaque_data), size});
    }
    if (session.allowance_.Accept(*frame)) session.allowance_.Refill();
    ClientStream* const stream = session.Find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if (type == NGHTTP2_HEADERS) {
      stream->EndHeaders(is_last);
    } else if (type == NGHTTP2_DATA && is_last) {
      stream->ServerIsDone();
    }
    return 0;
  }

  static int OnData(nghttp2_session* http2, uint8_t, int32_t id, const uint8_t* bytes, size_t size,
                    void* data) {
    nghttp2_session_consume_connection(http2, size);
    ClientStream* const stream = Of(data).Find(id);
    if (stream == nullptr) return 0;
    stream->AddData({reinterpret_cast<const char*>(bytes), size});
    return 0;
  }

  static int OnFrameSent(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) {
      Of(data).allowance_.Earn(kFramesPerUsefulFrame);
    }
    return 0;
  }

  static int OnStreamClose(nghttp2_session*, int32_t id, uint32_t error, void* data) {
    if (ClientStream* const stream = Of(data).Find(id)) stream->OnClose(error);
    return 0;
  }

  static nghttp2_session_callbacks* All() {
    static nghttp2_session_callbacks* const callbacks = [] {
      nghttp2_session_callbacks* all = nullptr;
      nghttp2_session_callbacks_new(&all);
      nghttp2_session_callbacks_set_on_begin_frame_callback(all, OnBeginFrame);
      nghttp2_session_callbacks_set_on_header_callback(all, OnHeader);
      nghttp2_session_callbacks_set_on_invalid_header_callback(all, OnInvalidHeader);
      nghttp2_session_callbacks_set_on_frame_recv_callback(all, OnFrame);
      nghttp2_session_callbacks_set_on_data_chunk_recv_callback(all, OnData);
      nghttp2_session_callbacks_set_on_frame_send_callback(all, OnFrameSent);
      nghttp2_session_callbacks_set_on_stream_close_callback(all, OnStreamClose);
      return all;
    }();
    return callbacks;
  }
};

ClientSession::ClientSession(Connection connection, EventLoop& loop, const Target& target,
                             std::function<void()> closed)
    : loop_(loop),
      target_(target),
      closed_(std::move(closed)),
      connection_(std::move(connection)),
      allowance_(kUselessFrames, 0) {
  BeginHttp2();
  timer_ = NewEvent<&ClientSession::OnTimer>(loop_, this);
  SetTimer(timer_, target_.connect_timeout);
  bufferevent_setcb(
      connection_.get(),
      [](bufferevent*, void* session) { static_cast<ClientSession*>(session)->OnReadable(); },
      [](bufferevent*, void* session) { static_cast<ClientSession*>(session)->Send(); },
      [](bufferevent*, short what, void* session) {
        static_cast<ClientSession*>(session)->OnConnectionEvent(what);
      },
      this);
  ReportTlsMessages(connection_.get(), this);
  bufferevent_enable(connection_.get(), EV_READ | EV_WRITE);
}

ClientSession::~ClientSession() {
  is_in_callback_ = true;
  while (!streams_.empty()) {
    streams_.begin()->second->End(
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
  nghttp2_session_client_new3(&session, ClientCallbacks::All(), this, option, SessionMemory());
  nghttp2_option_del(option);
  session_.reset(session);
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kStreamWindow},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, ClientStream::kHeaderListBytes}};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings));
  nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

void ClientSession::Open(const std::shared_ptr<ClientCall>& call) {
  const int32_t id = ClientStream::Submit(http2(), target_, *call);
  if (id < 0) {
    accepts_calls_ = false;  // all of its 2^30 streams are used
    return call->End({.status = absl::UnavailableError(absl::StrCat(
                          "no call can begin on the connection to ", target_.address))});
  }
  streams_[id] = std::make_unique<ClientStream>(id, *this, call);
  Send();
}

void ClientSession::OnReadable() {
  received_at_ = std::chrono::steady_clock::now();
  is_ping_pending_ = false;
  char bytes[8];
  const ssize_t size = evbuffer_copyout(bufferevent_get_input(connection_.get()), bytes,
                                        sizeof(bytes) - first_bytes_.size());
  if (size > 0) first_bytes_.append(bytes, static_cast<size_t>(size));
  is_in_callback_ = true;
  const int error =
      ReceiveBytes(session_.get(), connection_.get(), allowance_, [] { return true; });
  is_in_callback_ = false;
  if (error == NGHTTP2_ERR_FLOODED) return Lose(kFlooded);
  if (error == NGHTTP2_ERR_CALLBACK_FAILURE) return Lose(violation_);
  if (error != 0) {
    return Lose(nghttp2_strerror(error), {.is_other_protocol = target_.tls == nullptr});
  }
  Send();
}

void ClientSession::OnTlsMessage() {
  allowance_.Spend();
  if (!allowance_.is_spent()) return;
  violation_ = kFlooded;
  FailSoon(connection_.get());
}

void ClientSession::OnConnectionEvent(short what) {
  if ((what & BEV_EVENT_CONNECTED) != 0) return;
  if (!violation_.empty()) return Lose(violation_);
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
       {.handshake = HandshakeFault::kRejectedByPeer});
}

void ClientSession::OnTimer() {
  if (!has_settings_) return Lose("no answer");
  allowance_.Refill();
  const absl::Duration idle = absl::FromChrono(std::chrono::steady_clock::now() - received_at_);
  if (streams_.empty()) {
    is_ping_pending_ = false;
    return SetTimer(timer_, target_.keepalive);
  }
  if (idle < target_.keepalive) return SetTimer(timer_, target_.keepalive - idle);
  if (is_ping_pending_) {
    return Lose(absl::StrCat("no answer to a ping for ", DurationText(target_.keepalive_timeout)));
  }
  is_ping_pending_ = true;
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
  SetTimer(timer_, target_.keepalive_timeout);
  Send();
}

void ClientSession::Send() {
  if (is_in_callback_) return;
  is_in_callback_ = true;
  const int error = SendBytes(session_.get(), connection_.get());
  is_in_callback_ = false;
  if (error != 0) return Lose(nghttp2_strerror(error));
  if (evbuffer_get_length(bufferevent_get_output(connection_.get())) > 0) return;
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
    if (!goaway_text_.empty()) absl::StrAppend(&text, " (\"", goaway_text_, "\")");
  } else {
    const absl::string_view other = OtherProtocol(first_bytes_);
    text = absl::StrCat("cannot connect to ", target_.address, ": ", other.empty() ? why : other);
    connect_fault = fault;
  }
  is_in_callback_ = true;
  while (!streams_.empty()) {
    streams_.begin()->second->End(
        {.status = absl::UnavailableError(text), .connect_fault = connect_fault});
  }
  const auto closed = closed_;  // which goes with the session
  closed();
}

ClientStream* ClientSession::Find(int32_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

std::unique_ptr<ClientStream> ClientSession::Take(int32_t id) {
  return std::move(streams_.extract(id).mapped());
}

}  // namespace gpuscaler
