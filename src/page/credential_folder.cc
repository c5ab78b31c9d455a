#include "page/credential_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file_text.h"
#include "base/host_name.h"
#include "base/status_macros.h"
#include "page/host_pattern.h"
#include "page/http_endpoint.h"

namespace gpuscaler {
namespace {

constexpr size_t kLargestFile = size_t{64} << 10;  // bytes; enough for a long certificate chain

absl::Status NotUsable(absl::string_view alias, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("credentials \"", alias, "\": ", why));
}

// Splits entries at commas and white space.
std::vector<std::string> Entries(absl::string_view text) {
  return absl::StrSplit(absl::AsciiStrToLower(text), absl::ByAnyChar(", \t\r\n"),
                        absl::SkipEmpty());
}

// Schemes and their default ports.
constexpr std::pair<absl::string_view, int> kSchemes[] = {
    {"http", 80}, {"https", 443}, {"redis", 6379}, {"rediss", 6379}};

// Returns nothing unless the text is SCHEME://HOST or SCHEME://HOST:PORT.
std::optional<EndpointOrigin> ParseOrigin(absl::string_view text) {
  for (const auto& [scheme, port] : kSchemes) {
    absl::string_view rest = text;
    if (!absl::ConsumePrefix(&rest, scheme) || !absl::ConsumePrefix(&rest, "://")) continue;
    const absl::string_view star = absl::ConsumePrefix(&rest, "*.") ? "*." : "";
    const auto endpoint = ParseHttpEndpoint(absl::StrCat("http://", rest));
    if (!endpoint.ok() || !endpoint->path.empty()) return std::nullopt;
    return EndpointOrigin{.scheme = std::string(scheme),
                          .host = absl::StrCat(star, endpoint->host),
                          .port = endpoint->PortOr(port)};
  }
  return std::nullopt;
}

// Returns the folder that holds the files of `folder` now. The files of a mounted Secret are links
// through "..data", which leads to another folder after each update.
std::string CurrentFolder(const std::string& folder) {
  const std::string data = absl::StrCat(folder, "/..data");
  const std::unique_ptr<char, decltype(&free)> real(realpath(data.c_str(), nullptr), free);
  return real == nullptr ? folder : std::string(real.get());
}

// Returns the text without trailing white space, or an empty string if the file does not exist.
absl::StatusOr<std::string> ReadFile(const std::string& folder, absl::string_view alias,
                                     absl::string_view file) {
  const std::string path = absl::StrCat(folder, "/", file);
  struct stat found;
  const bool is_there = stat(path.c_str(), &found) == 0;
  if (!is_there && errno == ENOENT) return std::string();
  // Opening a pipe would block the thread that serves all sources.
  if (is_there && !S_ISREG(found.st_mode)) {
    return NotUsable(alias, absl::StrCat("its file ", file, " is no regular file"));
  }
  auto text = ReadFileText(path, kLargestFile);
  if (!text.ok()) return NotUsable(alias, absl::StrCat("its file ", file, " cannot be read"));
  return std::string(absl::StripTrailingAsciiWhitespace(*text));
}

absl::StatusOr<AliasFiles> ReadFiles(const std::string& folder, absl::string_view alias) {
  AliasFiles files;
  const auto read = [&](absl::string_view file) { return ReadFile(folder, alias, file); };
  ASSIGN_OR_RETURN(const std::string namespaces, read("namespaces"));
  ASSIGN_OR_RETURN(const std::string hosts, read("hosts"));
  files.namespaces = Entries(namespaces);
  for (const std::string& entry : Entries(hosts)) {
    const std::optional<EndpointOrigin> origin = ParseOrigin(entry);
    if (!origin.has_value()) {
      return NotUsable(alias,
                       "its file hosts has an entry that is not SCHEME://HOST or "
                       "SCHEME://HOST:PORT with http, https, redis or rediss");
    }
    files.origins.push_back(*origin);
  }
  ASSIGN_OR_RETURN(files.credentials.username, read("username"));
  ASSIGN_OR_RETURN(files.credentials.password, read("password"));
  ASSIGN_OR_RETURN(files.credentials.bearer_token, read("token"));
  ASSIGN_OR_RETURN(files.credentials.identity.ca, read("ca.crt"));
  ASSIGN_OR_RETURN(files.credentials.identity.cert, read("tls.crt"));
  ASSIGN_OR_RETURN(files.credentials.identity.key, read("tls.key"));
  return files;
}

absl::Status CheckNamespace(const AliasFiles& files, absl::string_view alias,
                            absl::string_view namespace_name) {
  if (files.namespaces.empty()) return NotUsable(alias, "its file namespaces is missing or empty");
  const bool is_allowed = std::ranges::any_of(files.namespaces, [&](const std::string& name) {
    return name == "*" || name == namespace_name;
  });
  if (is_allowed) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "credentials \"", alias, "\" are not for ScaledObjects of namespace ", namespace_name));
}

absl::Status CheckOrigin(const AliasFiles& files, absl::string_view alias, const EndpointOrigin& to,
                         absl::string_view cluster_domain) {
  if (files.origins.empty()) return NotUsable(alias, "its file hosts is missing or empty");
  const bool is_allowed = std::ranges::any_of(files.origins, [&](const EndpointOrigin& allowed) {
    return allowed.scheme == to.scheme && allowed.port == to.port &&
           MatchesAny({allowed.host}, to.host, cluster_domain);
  });
  if (is_allowed) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("credentials \"", alias, "\" are not to be sent to ", to.scheme, "://",
                   HostAndPort(absl::StripSuffix(to.host, "."), to.port)));
}

}  // namespace

absl::StatusOr<AliasFiles> CredentialFolder::Read(absl::string_view alias) const {
  constexpr int kMaxTries = 5;
  if (path_.empty()) {
    return NotUsable(alias, "the scaler has none; --endpoint-credentials names their folder");
  }
  // A DNS label, as for the names of Secrets' mounts: no path leads out of the folder.
  if (!IsHostLabel(alias)) return NotUsable(alias, "use letters, digits, hyphens and underscores");
  const std::string folder = absl::StrCat(path_, "/", alias);
  struct stat found;
  if (stat(folder.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) {
    return NotUsable(alias, "the scaler has none of that name");
  }
  for (int i = 0; i < kMaxTries; ++i) {
    const std::string current = CurrentFolder(folder);
    absl::StatusOr<AliasFiles> files = ReadFiles(current, alias);
    if (CurrentFolder(folder) == current) return files;
  }
  return NotUsable(alias, "its files are being replaced");
}

absl::StatusOr<AliasCredentials> CredentialFolder::CheckedCredentials(
    absl::string_view alias, const absl::StatusOr<AliasFiles>& files,
    absl::string_view namespace_name, const EndpointOrigin& to) const {
  RETURN_IF_ERROR(files.status());
  RETURN_IF_ERROR(CheckNamespace(*files, alias, namespace_name));
  RETURN_IF_ERROR(CheckOrigin(*files, alias, to, cluster_domain_));
  const AliasCredentials& read = files->credentials;
  if (read.identity.cert.empty() != read.identity.key.empty()) {
    return NotUsable(alias, "of tls.crt and tls.key one is missing");
  }
  return read;
}

}  // namespace gpuscaler
