#include "serve/http_tls.h"

#include <gnutls/x509.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

gnutls_datum_t Datum(const std::string& text) {
  return {.data = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data())),
          .size = static_cast<unsigned>(text.size())};
}

absl::Status Unusable(absl::string_view what, int error) {
  return absl::InvalidArgumentError(
      absl::StrCat(what, " cannot be used: ", gnutls_strerror(error)));
}

}  // namespace

absl::StatusOr<HttpTls::Credentials> HttpTls::Load(const TlsPems& pems) {
  gnutls_certificate_credentials_t allocated = nullptr;
  if (const int error = gnutls_certificate_allocate_credentials(&allocated); error < 0) {
    return Unusable("TLS", error);
  }
  Credentials credentials(allocated, gnutls_certificate_free_credentials);
  const gnutls_datum_t cert = Datum(pems.cert), key = Datum(pems.key), ca = Datum(pems.ca);
  const int pair =
      gnutls_certificate_set_x509_key_mem2(allocated, &cert, &key, GNUTLS_X509_FMT_PEM, nullptr, 0);
  if (pair < 0) return Unusable("certificate and key", pair);
  if (pems.ca.empty()) return credentials;
  const int trusted = gnutls_certificate_set_x509_trust_mem(allocated, &ca, GNUTLS_X509_FMT_PEM);
  if (trusted > 0) return credentials;
  return Unusable("client CA", trusted == 0 ? GNUTLS_E_NO_CERTIFICATE_FOUND : trusted);
}

absl::StatusOr<std::unique_ptr<HttpTls>> HttpTls::Open(const TlsFiles& files) {
  std::unique_ptr<HttpTls> tls(new HttpTls(files));
  RETURN_IF_ERROR(tls->Reload());
  return tls;
}

absl::Status HttpTls::Reload() {
  ASSIGN_OR_RETURN(TlsPems pems, reader_.Read());
  {
    MutexLock lock(mutex_);
    if (pems == pems_) return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(Credentials credentials, Load(pems));
  MutexLock lock(mutex_);
  if (credentials_ != nullptr)
    LogInfo("http_certificates_reloaded", {{"cert", reader_.files().cert}});
  pems_ = std::move(pems);
  credentials_ = std::move(credentials);
  return absl::OkStatus();
}

TlsPems HttpTls::pems() const {
  MutexLock lock(mutex_);
  return pems_;
}

std::shared_ptr<const void> HttpTls::Attach(gnutls_session_t session) const {
  // A certificate that is issued for servers only is refused.
  static unsigned char client_purpose[] = GNUTLS_KP_TLS_WWW_CLIENT;
  static gnutls_typed_vdata_st purpose = {
      .type = GNUTLS_DT_KEY_PURPOSE_OID, .data = client_purpose, .size = 0};
  MutexLock lock(mutex_);
  gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, credentials_.get());
  if (!pems_.ca.empty()) {
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
    gnutls_session_set_verify_cert2(session, &purpose, 1, 0);
  }
  return credentials_;
}

}  // namespace gpuscaler
