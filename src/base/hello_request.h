// HelloRequest, a message of TLS servers (RFC 5246, section 7.4.1.1).
#pragma once

#include <openssl/ssl3.h>

#include <cstddef>

namespace gpuscaler {

// Takes the arguments of OpenSSL's msg_callback. During the handshake OpenSSL's client skips a
// HelloRequest and reads on, within one call: it blocks its thread for as long as they come. No
// server needs to send one then.
inline bool IsHelloRequest(int is_sent, int type, const void* message, size_t size) {
  return is_sent == 0 && type == SSL3_RT_HANDSHAKE && size > 0 &&
         *static_cast<const unsigned char*>(message) == SSL3_MT_HELLO_REQUEST;
}

}  // namespace gpuscaler
