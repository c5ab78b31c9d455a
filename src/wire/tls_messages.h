// TLS's own messages on a connection, such as KeyUpdate: they never reach the connection's reader.
#pragma once

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/ssl.h>

#include <cstddef>

namespace gpuscaler {

// Limits what the peer can do between its records of data: one read of OpenSSL handles one of its
// messages, so that connections of a loop take turns, and TLS 1.2 does not renegotiate.
inline void LimitTlsMessages(SSL_CTX* context) {
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
}

// Calls session->OnTlsMessage() for each handshake message that comes, within OpenSSL: it must not
// close the connection. `session` outlives it. Does nothing without TLS.
template <typename Session>
void ReportTlsMessages(bufferevent* connection, Session* session) {
  SSL* const tls = bufferevent_openssl_get_ssl(connection);
  if (tls == nullptr) return;
  SSL_set_msg_callback(tls, [](int is_sent, int, int type, const void*, size_t, SSL*, void* to) {
    if (is_sent == 0 && type == SSL3_RT_HANDSHAKE) static_cast<Session*>(to)->OnTlsMessage();
  });
  SSL_set_msg_callback_arg(tls, session);
}

// Reports an error of the connection to its callback, when the loop comes round.
inline void FailSoon(bufferevent* connection) {
  bufferevent_trigger_event(connection, BEV_EVENT_ERROR, BEV_TRIG_DEFER_CALLBACKS);
}

}  // namespace gpuscaler
