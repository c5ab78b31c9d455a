#include "wire/tls_files.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "base/file_text.h"
#include "base/status_macros.h"
#include "wire/pem.h"

namespace gpuscaler {
namespace {

absl::Status Unusable(const std::string& path, absl::string_view fault) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", fault));
}

// "ee key too small".
std::string LastError() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  return reason == nullptr ? "OpenSSL refuses it" : reason;
}

// Every certificate of the file must be good.
absl::Status CheckCertificates(const std::string& path, const std::string& pem) {
  const PemText text = TextOf(pem);
  ERR_clear_error();
  int found = 0;
  while (NextCertificate(text.get()) != nullptr) ++found;
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const bool at_end =
      ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
  if (!at_end) return Unusable(path, "holds a certificate that is not valid PEM");
  if (found == 0) return Unusable(path, "holds no PEM certificate");
  return absl::OkStatus();
}

absl::Status CheckPair(const TlsFiles& files, const TlsPems& pems) {
  const auto leaf = NextCertificate(TextOf(pems.cert).get());
  const auto key = PrivateKeyOf(pems.key);
  absl::Status status;
  if (key == nullptr) {
    status = Unusable(files.key, "holds no PEM private key without a passphrase");
  } else if (X509_check_private_key(leaf.get(), key.get()) != 1) {
    status = Unusable(files.key, absl::StrCat("is not the key of the certificate in ", files.cert));
  } else if (X509_cmp_current_time(X509_get0_notAfter(leaf.get())) < 0) {
    status = Unusable(files.cert, "the certificate has expired");
  } else if (X509_cmp_current_time(X509_get0_notBefore(leaf.get())) > 0) {
    status = Unusable(files.cert, "the certificate is not valid yet");
  }
  ERR_clear_error();
  return status;
}

// The library's security level refuses keys and digests that are too weak only when a server uses
// them.
absl::Status CheckStrength(const TlsFiles& files, const TlsPems& pems) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_server_method()),
                                                                  &SSL_CTX_free);
  const PemText chain = TextOf(pems.cert);
  const auto key = PrivateKeyOf(pems.key);
  ERR_clear_error();
  bool usable = SSL_CTX_use_certificate(context.get(), NextCertificate(chain.get()).get()) == 1;
  while (const auto issuer = usable ? NextCertificate(chain.get()) : nullptr) {
    usable = SSL_CTX_add1_chain_cert(context.get(), issuer.get()) == 1;
  }
  if (usable) ERR_clear_error();  // the end of the file
  absl::Status status;
  if (!usable) {
    status = Unusable(files.cert, absl::StrCat("cannot be used: ", LastError()));
  } else if (SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1) {
    status = Unusable(files.key, absl::StrCat("cannot be used: ", LastError()));
  }
  ERR_clear_error();
  return status;
}

}  // namespace

absl::StatusOr<TlsPems> ReadTls(const TlsFiles& files) {
  if (files.cert.empty() || files.key.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("TLS needs a certificate and its key: no ",
                                                   files.cert.empty() ? "certificate" : "key"));
  }
  TlsPems pems;
  ASSIGN_OR_RETURN(pems.cert, ReadFileText(files.cert));
  ASSIGN_OR_RETURN(pems.key, ReadFileText(files.key));
  RETURN_IF_ERROR(CheckCertificates(files.cert, pems.cert));
  RETURN_IF_ERROR(CheckPair(files, pems));
  RETURN_IF_ERROR(CheckStrength(files, pems));
  if (files.client_ca.empty()) return pems;
  ASSIGN_OR_RETURN(pems.ca, ReadFileText(files.client_ca));
  RETURN_IF_ERROR(CheckCertificates(files.client_ca, pems.ca));
  return pems;
}

absl::StatusOr<TlsPems> TlsFileReader::Read() {
  absl::StatusOr<TlsPems> read = ReadTls(files_);
  MutexLock lock(mutex_);
  if (!read.ok()) {
    last_read_.reset();
    return read;
  }
  if (!used_.has_value() || last_read_ == *read) used_ = *read;
  last_read_ = *std::move(read);
  return *used_;
}

}  // namespace gpuscaler
