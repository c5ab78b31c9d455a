#include "wire/server_session.h"

#include <event2/buffer.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/thread_cpu_time.h"
#include "wire/session_memory.h"
#include "wire/tls_messages.h"

namespace gpuscaler {
namespace {

constexpr absl::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// How long to wait for the answer to the PING that follows the first GOAWAY. Calls in flight arrive
// before the answer.
constexpr absl::Duration kLongestRoundTrip = absl::Seconds(1);
constexpr uint8_t kRoundTripPing[8] = {'g', 'o', 'a', 'w', 'a', 'y', 0, 0};
// A client is not read while more frames than this wait for the socket. The answer to a call that
// the client has reset takes up to 800 bytes, which no limit counts.
constexpr size_t kMaxQueued = 20;
// The loop's time for a handshake with an RSA key of 2,048 bits.
constexpr double kHandshakeSeconds = 0.001;

}  // namespace

// nghttp2's callbacks, which find the session in their user data.
struct SessionCallbacks {
  static ServerSession& Of(void* data) { return *static_cast<ServerSession*>(data); }

  static int OnBeginFrame(nghttp2_session*, const nghttp2_frame_hd* head, void* data) {
    // CONTINUATION has a limit of its own (nghttp2_option_set_max_continuations), so it spends no
    // allowance.
    if (head->type == NGHTTP2_CONTINUATION) Of(data).allowance_.Earn(1);
    return 0;
  }

  static int OnBeginHeaders(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      ServerSession& session = Of(data);
      if (const std::optional<Limit> limit = session.LimitOfRefusedStreams()) {
        session.server_.log.Add(*limit, session.peer_);
        return NGHTTP2_ERR_CALLBACK_FAILURE;
      }
      const int32_t id = frame->hd.stream_id;
      session.streams_[id] = std::make_unique<ServerStream>(id, session);
    }
    return 0;
  }

  static int OnHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name,
                      size_t name_size, const uint8_t* value, size_t value_size, uint8_t,
                      void* data) {
    ServerStream* const stream = Of(data).Find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if (const int error = Of(data).CountHeader(*stream, name_size + value_size)) return error;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    stream->AddHeader({reinterpret_cast<const char*>(name), name_size},
                      {reinterpret_cast<const char*>(value), value_size});
    return 0;
  }

  // nghttp2 drops an invalid field, but its size counts.
  static int OnInvalidHeader(nghttp2_session*, const nghttp2_frame* frame, const uint8_t*,
                             size_t name_size, const uint8_t*, size_t value_size, uint8_t,
                             void* data) {
    ServerStream* const stream = Of(data).Find(frame->hd.stream_id);
    return stream == nullptr ? 0 : Of(data).CountHeader(*stream, name_size + value_size);
  }

  static int OnFrame(nghttp2_session*, const nghttp2_frame* frame, void* data) {
    ServerSession& session = Of(data);
    const uint8_t type = frame->hd.type;
    if (type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK) != 0 &&
        std::ranges::equal(frame->ping.opaque_data, kRoundTripPing)) {
      session.SendFinalGoaway();
    }
    if (type == NGHTTP2_SETTINGS || type == NGHTTP2_GOAWAY) return session.ChargeSettingsOrGoaway();
    if (type == NGHTTP2_RST_STREAM) {
      session.allowance_.Earn(1);
      return session.ChargeReset();
    }
    if (type != NGHTTP2_HEADERS && type != NGHTTP2_DATA) return 0;
    session.allowance_.Accept(*frame);
    ServerStream* const stream = session.Find(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    if (type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      session.allowance_.Earn(kFramesPerUsefulFrame);
      stream->Start();
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) stream->EndData();
    return 0;
  }

  static int OnData(nghttp2_session*, uint8_t, int32_t id, const uint8_t* bytes, size_t size,
                    void* data) {
    ServerStream* const stream = Of(data).Find(id);
    if (stream == nullptr) return 0;
    stream->AddData({reinterpret_cast<const char*>(bytes), size});
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
    // Counts our own resets for a client's protocol errors too (MadeYouReset, CVE-2025-8671).
    if (frame->hd.type == NGHTTP2_RST_STREAM && frame->rst_stream.error_code != NGHTTP2_NO_ERROR &&
        frame->rst_stream.error_code != NGHTTP2_CANCEL) {
      return Of(data).ChargeReset();
    }
    if (frame->hd.type == NGHTTP2_HEADERS || frame->hd.type == NGHTTP2_DATA) {
      Of(data).allowance_.Refill();
      Of(data).allowance_.Earn(kFramesPerUsefulFrame);
    }
    Of(data).OnSent(*frame);
    return 0;
  }

  static int OnStreamClose(nghttp2_session*, int32_t id, uint32_t, void* data) {
    // Removed from the map before its destructor runs, which calls the handler.
    const auto ended = Of(data).streams_.extract(id);
    return 0;
  }

  static nghttp2_session_callbacks* All() {
    static nghttp2_session_callbacks* const callbacks = [] {
      nghttp2_session_callbacks* all = nullptr;
      nghttp2_session_callbacks_new(&all);
      nghttp2_session_callbacks_set_on_begin_frame_callback(all, OnBeginFrame);
      nghttp2_session_callbacks_set_on_begin_headers_callback(all, OnBeginHeaders);
      nghttp2_session_callbacks_set_on_header_callback(all, OnHeader);
      nghttp2_session_callbacks_set_on_invalid_header_callback(all, OnInvalidHeader);
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

ServerSession::ServerSession(bufferevent* connection, std::string peer, ServerContext& server,
                             AddressContext& address, std::function<void(ServerSession*)> closed)
    : connection_(connection),
      peer_(std::move(peer)),
      server_(server),
      address_(address),
      limits_(server.limits),
      closed_(std::move(closed)),
      continuation_(address.unfinished_bytes),
      allowance_(limits_.useless_frames, kPreface.size()),
      received_at_(server.clock.Now()) {
  ++address_.handshakes;
  bufferevent_setcb(
      connection,
      [](bufferevent*, void* session) { static_cast<ServerSession*>(session)->OnReadable(); },
      [](bufferevent*, void* session) { static_cast<ServerSession*>(session)->OnWritable(); },
      [](bufferevent*, short what, void* session) {
        static_cast<ServerSession*>(session)->OnConnectionEvent(what);
      },
      this);
  ReportTlsMessages(connection, this);
  bufferevent_enable(connection, EV_READ | EV_WRITE);
  if (IsTls()) address_.loop_seconds.Charge(received_at_, kHandshakeSeconds);
  SetPriority(received_at_);
}

ServerSession::~ServerSession() {
  if (session_ == nullptr) --address_.handshakes;
  streams_.clear();
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
  // nghttp2's own limit is a backstop: resets_at_once and resets_per_second are reached before it.
  nghttp2_option_set_stream_reset_rate_limit(option, 2 * limits_.resets_at_once,
                                             2 * limits_.resets_per_second);
  nghttp2_option_set_max_continuations(option, limits_.continuations);
  nghttp2_option_set_no_closed_streams(option, 1);
  nghttp2_session* session = nullptr;
  nghttp2_session_server_new3(&session, SessionCallbacks::All(), this, option, SessionMemory());
  nghttp2_option_del(option);
  session_.reset(session);
  --address_.handshakes;
  const nghttp2_settings_entry settings[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits_.header_list_bytes},
      // Disables the tree of priorities, which a client could make as deep as it has streams.
      {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1}};
  nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, std::size(settings));
}

bool ServerSession::SetPriority(absl::Time now) {
  const bool is_low_priority = address_.loop_seconds.IsOverdrawn(now);
  if (std::exchange(is_low_priority_, is_low_priority) == is_low_priority) return false;
  // libevent does not change the priority of a pending event.
  bufferevent_disable(connection_.get(), EV_READ | EV_WRITE);
  bufferevent_priority_set(connection_.get(), is_low_priority ? kLowPriority : kNormalPriority);
  bufferevent_enable(connection_.get(), is_throttled_ ? EV_WRITE : EV_READ | EV_WRITE);
  return is_low_priority;
}

// Other connections of the address may have used up its time since this one became readable.
void ServerSession::OnReadable() {
  if (SetPriority(server_.clock.Now())) return ReadInNextTurn();
  Charge(&ServerSession::Receive);
}

void ServerSession::ReadInNextTurn() {
  if (evbuffer_get_length(bufferevent_get_input(connection_.get())) == 0) return;
  bufferevent_trigger(connection_.get(), EV_READ,
                      BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

void ServerSession::Charge(void (ServerSession::*work)()) {
  // These outlive the session, which `work` may delete.
  const Clock& clock = server_.clock;
  TokenBucket& loop_seconds = address_.loop_seconds;
  const absl::Duration began = ThreadCpuTime();
  (this->*work)();
  loop_seconds.Charge(clock.Now(), absl::ToDoubleSeconds(ThreadCpuTime() - began));
}

void ServerSession::Receive() {
  evbuffer* const input = bufferevent_get_input(connection_.get());
  if (is_closing_) {
    evbuffer_drain(input, evbuffer_get_length(input));
    return;
  }
  if (session_ == nullptr && !ReadPreface()) return CloseIfDone();
  received_at_ = server_.clock.Now();
  pinged_at_ = absl::InfiniteFuture();
  is_in_callback_ = true;
  int error = 0;
  const auto goes_on = [&] {
    error = ReserveContinuation();
    if (error != 0) return false;
    if (nghttp2_session_get_outbound_queue_size(session_.get()) <= kMaxQueued) return true;
    error = SendBytes(session_.get(), connection_.get());
    return error == 0 && nghttp2_session_get_outbound_queue_size(session_.get()) <= kMaxQueued;
  };
  const int receive_error = ReceiveBytes(session_.get(), connection_.get(), allowance_, goes_on);
  if (receive_error != 0) error = receive_error;
  if (error == 0) error = ReserveContinuation();
  if (error != 0) {
    if (error == NGHTTP2_ERR_FLOODED) server_.log.Add(Limit::kControlFrames, peer_);
    if (error == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS) {
      server_.log.Add(Limit::kContinuations, peer_);
    }
    // No effect if nghttp2 has queued a GOAWAY with the reason.
    nghttp2_session_terminate_session(session_.get(), NGHTTP2_ENHANCE_YOUR_CALM);
    is_closing_ = true;
  }
  is_in_callback_ = false;
  Send();
}

void ServerSession::OnWritable() {
  if (session_ != nullptr && nghttp2_session_want_write(session_.get()) != 0) {
    return Charge(&ServerSession::Send);
  }
  CloseIfDone();  // nothing waits, so it costs next to nothing
}

void ServerSession::OnConnectionEvent(short what) {
  if ((what & BEV_EVENT_CONNECTED) != 0) {
    // libevent has new events for what follows the handshake. They have the normal priority,
    // deferred callbacks the earlier one, so it must be set in any case.
    const absl::Time now = server_.clock.Now();
    is_low_priority_ = !address_.loop_seconds.IsOverdrawn(now);
    SetPriority(now);
    return;
  }
  if (session_ == nullptr && IsTls()) {
    tls_error_ = bufferevent_get_openssl_error(connection_.get());
  }
  Charge(&ServerSession::CloseNow);  // frees all streams
}

void ServerSession::Send() {
  if (is_in_callback_) return;
  is_in_callback_ = true;
  const int error = SendBytes(session_.get(), connection_.get());
  is_in_callback_ = false;
  if (error != 0) return CloseNow();
  Throttle();
  CloseIfDone();
}

void ServerSession::Throttle() {
  const bool is_behind =
      evbuffer_get_length(bufferevent_get_output(connection_.get())) >= kOutputBytes &&
      nghttp2_session_get_outbound_queue_size(session_.get()) > kMaxQueued;
  if (!is_behind) ReadInNextTurn();
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

void ServerSession::BeginGracefulShutdown() {
  if (session_ == nullptr) return CloseNow();
  if (close_timer_ != nullptr) return;
  nghttp2_submit_shutdown_notice(session_.get());
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, kRoundTripPing);
  close_timer_ = NewEvent<&ServerSession::OnRoundTripTimeout>(server_.loop, this);
  SetTimer(close_timer_, kLongestRoundTrip);
  Send();
}

void ServerSession::OnRoundTripTimeout() {
  SendFinalGoaway();
  Send();
}

void ServerSession::SendFinalGoaway() {
  if (close_timer_ == nullptr || std::exchange(has_sent_final_goaway_, true)) return;
  nghttp2_submit_goaway(session_.get(), NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_.get()), NGHTTP2_NO_ERROR,
                        nullptr, 0);
}

bool ServerSession::IsTls() const {
  return bufferevent_openssl_get_ssl(connection_.get()) != nullptr;
}

void ServerSession::CloseNow() {
  const auto closed = closed_;  // a copy: the call may delete the session
  closed(this);
}

void ServerSession::CloseForLimit(Limit limit) {
  server_.log.Add(limit, peer_);
  CloseNow();
}

void ServerSession::Tick() {
  allowance_.Recover();
  const absl::Time now = server_.clock.Now();
  const absl::Duration idle = now - received_at_;
  if (session_ == nullptr) {
    if (idle >= limits_.handshake) CloseForLimit(Limit::kHandshakeTimeout);
    return;
  }
  if (now - pinged_at_ >= limits_.keepalive_timeout) return CloseForLimit(Limit::kKeepalive);
  if (idle < limits_.keepalive || pinged_at_ != absl::InfiniteFuture()) return;
  pinged_at_ = now;
  nghttp2_submit_ping(session_.get(), NGHTTP2_FLAG_NONE, nullptr);
  Send();
}

bool ServerSession::HasCertificate() const {
  const SSL* const tls = bufferevent_openssl_get_ssl(connection_.get());
  return tls != nullptr && SSL_get0_peer_certificate(tls) != nullptr;
}

ServerStream* ServerSession::Find(int32_t id) {
  const auto found = streams_.find(id);
  return found == streams_.end() ? nullptr : found->second.get();
}

void ServerSession::OnTlsMessage() {
  allowance_.Spend();
  if (!allowance_.is_spent()) return;
  server_.log.Add(Limit::kControlFrames, peer_);
  FailSoon(connection_.get());
}

std::optional<Limit> ServerSession::LimitOfRefusedStreams() {
  while (true) {
    const bool is_of_address =
        address_.streams >= limits_.streams_per_address + limits_.refused_streams;
    const bool is_in_all = server_.streams >= limits_.streams_in_all + limits_.refused_streams;
    if (!is_of_address && !is_in_all) return std::nullopt;
    if (server_.make_room_for_stream(*this)) continue;
    return is_of_address ? Limit::kStreamsPerAddress : Limit::kStreams;
  }
}

size_t ServerSession::refused_streams() const {
  return static_cast<size_t>(std::ranges::count_if(
      streams_, [](const auto& stream) { return stream.second->has_sent_status(); }));
}

int ServerSession::ChargeSettingsOrGoaway() {
  if (streams_.empty()) return 0;
  constexpr double kStreamsPerToken = 100;
  const double tokens = static_cast<double>(streams_.size()) / kStreamsPerToken;
  if (address_.settings.Take(server_.clock.Now(), tokens)) return 0;
  server_.log.Add(Limit::kControlFrames, peer_);
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int ServerSession::ChargeReset() {
  if (address_.resets.Take(server_.clock.Now())) return 0;
  server_.log.Add(Limit::kResets, peer_);
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int ServerSession::ReserveContinuation() {
  if (continuation_.Set(allowance_.continuation_bytes())) return 0;
  server_.log.Add(Limit::kUnfinishedBytes, peer_);
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

int ServerSession::CountHeader(ServerStream& stream, size_t bytes) {
  if (stream.CountHeader(bytes)) return 0;
  server_.log.Add(Limit::kHeaderList, peer_);
  return NGHTTP2_ERR_CALLBACK_FAILURE;
}

void ServerSession::OnSent(const nghttp2_frame& frame) {
  if (frame.hd.type != NGHTTP2_HEADERS || (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) return;
  const ServerStream* const stream = Find(frame.hd.stream_id);
  if (stream == nullptr || stream->client_is_done()) return;
  nghttp2_submit_rst_stream(session_.get(), NGHTTP2_FLAG_NONE, frame.hd.stream_id,
                            NGHTTP2_NO_ERROR);
}

}  // namespace gpuscaler
