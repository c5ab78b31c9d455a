#include "web/web_access.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file_text.h"
#include "base/log.h"
#include "base/printable_text.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

constexpr size_t kMaxTokenBytes = size_t{4} << 10;

// Returns the name as it is in a Host header.
std::string AsHost(const std::string& name) {
  const bool is_ipv6 = absl::StrContains(name, ':') && !absl::StartsWith(name, "[");
  return absl::AsciiStrToLower(is_ipv6 ? absl::StrCat("[", name, "]") : name);
}

// Returns the host without the port, or "" if `header` is not HOST or HOST:PORT.
std::string WithoutPort(absl::string_view header) {
  const size_t bracket = absl::StartsWith(header, "[") ? header.find(']') : 0;
  if (bracket == absl::string_view::npos) return "";
  const size_t colon = header.find(':', bracket);
  const absl::string_view port = colon == absl::string_view::npos ? "" : header.substr(colon + 1);
  if (!std::ranges::all_of(port, absl::ascii_isdigit)) return "";
  return absl::AsciiStrToLower(header.substr(0, colon));
}

std::array<unsigned char, 32> Sha256(absl::string_view text) {
  std::array<unsigned char, 32> digest = {};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

bool IsTokenCharacter(char character) {
  return absl::ascii_isgraph(static_cast<unsigned char>(character));
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFileText(path, kMaxTokenBytes));
  const std::string token(absl::StripAsciiWhitespace(text));
  if (token.size() >= WebAccess::kShortestToken && std::ranges::all_of(token, IsTokenCharacter)) {
    return token;
  }
  return absl::InvalidArgumentError(absl::StrCat(path, ": a token is one line of at least ",
                                                 WebAccess::kShortestToken,
                                                 " printable ASCII characters without blanks"));
}

}  // namespace

WebAccess::WebAccess(const WebAccessOptions& options) : token_file_(options.token_file) {
  hosts_ = {"localhost", "127.0.0.1", "[::1]", AsHost(options.bind_address)};
  for (const std::string& host : options.hosts) hosts_.insert(AsHost(host));
}

absl::StatusOr<std::unique_ptr<WebAccess>> WebAccess::Open(const WebAccessOptions& options) {
  std::unique_ptr<WebAccess> access(new WebAccess(options));
  RETURN_IF_ERROR(access->ReloadToken());
  return access;
}

absl::Status WebAccess::ReloadToken() {
  if (!HasToken()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string token, ReadToken(token_file_));
  const Digest digest = Sha256(token);
  MutexLock lock(mutex_);
  if (digest == token_) return absl::OkStatus();
  if (token_ != Digest{}) LogInfo("web_token_reloaded", {{"file", token_file_}});
  token_ = digest;
  return absl::OkStatus();
}

absl::Status WebAccess::CheckHost(absl::string_view host) const {
  const std::string name = WithoutPort(host);
  if (!name.empty() && hosts_.contains(name)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("host \"", PrintableText(host),
                                                  "\" is not served here: use localhost, or name "
                                                  "the host with --web-hosts"));
}

absl::Status WebAccess::CheckSite(absl::string_view fetch_site) {
  // "none": the user typed the address.
  if (fetch_site.empty() || fetch_site == "same-origin" || fetch_site == "none") {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError("pages of other sites may not use this API");
}

absl::Status WebAccess::CheckToken(absl::string_view authorization) const {
  if (!HasToken()) return absl::OkStatus();
  constexpr absl::string_view kScheme = "bearer ";
  const bool has_scheme = absl::StartsWithIgnoreCase(authorization, kScheme);
  const absl::string_view token =
      has_scheme ? absl::StripAsciiWhitespace(authorization.substr(kScheme.size())) : "";
  // Digests have one length, so that the comparison does not reveal that of the token.
  const Digest digest = Sha256(token);
  MutexLock lock(mutex_);
  if (CRYPTO_memcmp(digest.data(), token_.data(), digest.size()) == 0) return absl::OkStatus();
  return absl::UnauthenticatedError(
      "send the token of --web-token-file as \"Authorization: Bearer TOKEN\"");
}

}  // namespace gpuscaler
