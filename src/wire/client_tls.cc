#include "wire/client_tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/hello_request.h"
#include "base/status_macros.h"
#include "wire/tls_messages.h"
#include "wire/tls_pem.h"

namespace gpuscaler {
namespace {

constexpr unsigned char kHttp2[] = {2, 'h', '2'};

bool IsAddress(const std::string& name) {
  in6_addr address;
  return inet_pton(AF_INET, name.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, name.c_str(), &address) == 1;
}

void EndAtHelloRequest(int is_sent, int /*version*/, int type, const void* message, size_t size,
                       SSL* tls, void* /*unused*/) {
  if (!IsHelloRequest(is_sent, type, message, size)) return;
  SSL_set0_rbio(tls, BIO_new(BIO_s_null()));  // nothing is left to read
}

bool IsWrongName(long verified) {
  return verified == X509_V_ERR_HOSTNAME_MISMATCH || verified == X509_V_ERR_IP_ADDRESS_MISMATCH;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SSL_CTX>> ClientTls(const TlsPems& pems) {
  const std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  LimitTlsMessages(context.get());
  SSL_CTX_set_msg_callback(context.get(), EndAtHelloRequest);
  SSL_CTX_set_alpn_protos(context.get(), kHttp2, std::size(kHttp2));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (pems.ca.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
    ERR_clear_error();
  } else {
    RETURN_IF_ERROR(TrustAuthorities(context.get(), pems.ca, "CA of servers"));
  }
  if (!pems.cert.empty() || !pems.key.empty()) {
    RETURN_IF_ERROR(UseCertificate(context.get(), pems.cert, pems.key));
  }
  return context;
}

std::unique_ptr<SSL, FreeTls> ClientTlsOf(SSL_CTX* context, const std::string& server_name) {
  std::unique_ptr<SSL, FreeTls> tls(SSL_new(context));
  SSL_set_connect_state(tls.get());
  SSL_set_hostflags(tls.get(),
                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (IsAddress(server_name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls.get()), server_name.c_str());
    return tls;
  }
  const std::string name(absl::StripSuffix(server_name, "."));
  SSL_set1_host(tls.get(), name.c_str());
  SSL_set_tlsext_host_name(tls.get(), name.c_str());
  return tls;
}

std::vector<std::string> DnsNamesOf(const SSL* tls) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(SSL_get1_peer_certificate(tls),
                                                                X509_free);
  if (certificate == nullptr) return {};
  const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> all(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  std::vector<std::string> names;
  for (int i = 0; all != nullptr && i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type != GEN_DNS) continue;
    const ASN1_IA5STRING* const text = name->d.dNSName;
    names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                       static_cast<size_t>(ASN1_STRING_length(text)));
  }
  return names;
}

TlsFault TlsFaultOf(const SSL* tls, unsigned long error) {
  if (error == 0) return {HandshakeFault::kOther, "the server has closed the connection"};
  if (ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return TlsFaultOf(tls, 0);
  TlsFault fault = {FaultOfTlsError(error), TextOfTlsError(error)};
  if (fault.fault == HandshakeFault::kNoTls) {
    fault.text = absl::StrCat("the server has no TLS (", fault.text, ")");
  }
  if (fault.fault != HandshakeFault::kUntrusted) return fault;
  const long verified = SSL_get_verify_result(tls);
  if (IsWrongName(verified)) {
    return {HandshakeFault::kWrongName, "the server's certificate is for another name"};
  }
  absl::StrAppend(&fault.text, ": ", X509_verify_cert_error_string(verified));
  return fault;
}

}  // namespace gpuscaler
