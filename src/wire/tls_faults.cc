#include "wire/tls_faults.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

namespace gpuscaler {

HandshakeFault FaultOfTlsError(unsigned long error) {
  if (ERR_GET_LIB(error) != ERR_LIB_SSL) return HandshakeFault::kOther;
  const int reason = ERR_GET_REASON(error);
  // The other side's alert, plus this offset.
  if (reason >= SSL_AD_REASON_OFFSET) return HandshakeFault::kRejectedByPeer;
  switch (reason) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return HandshakeFault::kNoCertificate;
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
      return HandshakeFault::kUntrusted;
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return HandshakeFault::kNoTls;
    default:
      return HandshakeFault::kOther;
  }
}

std::string TextOfTlsError(unsigned long error) {
  const char* const reason = ERR_reason_error_string(error);
  return reason == nullptr ? "unknown" : reason;
}

}  // namespace gpuscaler
