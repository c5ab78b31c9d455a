// TLS's own messages on a connection, such as KeyUpdate: they never reach the connection's reader.
#pragma once

#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/ssl.h>

#include <cstddef>

namespace gpuscaler {

// Limits the peer's TLS messages without data. OpenSSL handles at most one in each read of the
// connection, so that connections of a loop take turns, and TLS 1.2 peers cannot renegotiate. Keys
// are exchanged on elliptic curves: a finite field of 8,192 bits would take the loop 100 ms.
inline void LimitTlsMessages(SSL_CTX* context) {
  SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384:P-521");
  SSL_CTX_set_cipher_list(context, "DEFAULT:!kDHE:!kRSA");  // TLS 1.2's
}

// Calls session->OnTlsMessage() for each handshake message received. OnTlsMessage() runs within
// OpenSSL, so it must not close the connection. `session` must live until FreeEvents() frees the
// connection. Without TLS, does nothing.
template <typename Session>
void ReportTlsMessages(bufferevent* connection, Session* session) {
  SSL* const tls = bufferevent_openssl_get_ssl(connection);
  if (tls == nullptr) return;
  SSL_set_msg_callback(tls, [](int is_sent, int, int type, const void*, size_t, SSL*, void* to) {
    if (is_sent == 0 && type == SSL3_RT_HANDSHAKE) static_cast<Session*>(to)->OnTlsMessage();
  });
  SSL_set_msg_callback_arg(tls, session);
}

// Calls the connection's event callback with BEV_EVENT_ERROR, after the present callback.
inline void FailSoon(bufferevent* connection) {
  bufferevent_trigger_event(connection, BEV_EVENT_ERROR, BEV_TRIG_DEFER_CALLBACKS);
}

}  // namespace gpuscaler
