// KeyUpdates of TLS 1.3, as many as an attacker sends.
#pragma once

#include <openssl/ssl.h>

#include <string>

#include "gtest/gtest.h"

namespace gpuscaler {

// The records must be the next bytes that `tls` sends.
inline std::string KeyUpdates(SSL* tls, int count) {
  BIO* const socket = SSL_get_wbio(tls);
  BIO_up_ref(socket);
  BIO* const records = BIO_new(BIO_s_mem());
  SSL_set0_wbio(tls, records);
  for (int i = 0; i < count; ++i) {
    EXPECT_EQ(SSL_key_update(tls, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
    EXPECT_EQ(SSL_do_handshake(tls), 1);
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(records, &data);
  std::string bytes(data, static_cast<size_t>(size));
  SSL_set0_wbio(tls, socket);
  return bytes;
}

}  // namespace gpuscaler
