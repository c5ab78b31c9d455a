#include "signal/credential_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file_text.h"
#include "base/host_name.h"
#include "base/status_macros.h"
#include "signal/host_pattern.h"

namespace gpuscaler {
namespace {

constexpr size_t kLargestFile = size_t{64} << 10;  // bytes; a long chain of certificates

absl::Status NotUsable(absl::string_view alias, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("credentials \"", alias, "\": ", why));
}

// Of several entries, apart by commas or white space.
std::vector<std::string> Entries(absl::string_view text) {
  return absl::StrSplit(absl::AsciiStrToLower(text), absl::ByAnyChar(", \t\r\n"),
                        absl::SkipEmpty());
}

// One alias's files.
class Folder {
 public:
  Folder(absl::string_view path, absl::string_view alias)
      : path_(absl::StrCat(path, "/", alias)), alias_(alias) {}

  bool Exists() const {
    struct stat found;
    return stat(path_.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  }

  // Without the end of the line that editors put behind it; empty: there is no such file.
  absl::StatusOr<std::string> Read(absl::string_view file) const {
    const std::string path = absl::StrCat(path_, "/", file);
    struct stat found;
    if (stat(path.c_str(), &found) != 0 && errno == ENOENT) return std::string();
    auto text = ReadFileText(path, kLargestFile);
    if (!text.ok()) return NotUsable(alias_, text.status().message());
    return std::string(absl::StripTrailingAsciiWhitespace(*text));
  }

  absl::StatusOr<std::vector<std::string>> ReadList(absl::string_view file) const {
    ASSIGN_OR_RETURN(const std::string text, Read(file));
    std::vector<std::string> entries = Entries(text);
    if (entries.empty()) {
      return NotUsable(alias_, absl::StrCat("its file ", file, " is missing or empty"));
    }
    return entries;
  }

 private:
  const std::string path_;
  const absl::string_view alias_;
};

absl::Status CheckNamespace(const Folder& folder, absl::string_view alias,
                            absl::string_view namespace_name) {
  ASSIGN_OR_RETURN(const std::vector<std::string> allowed, folder.ReadList("namespaces"));
  const bool is_allowed = std::ranges::any_of(
      allowed, [&](const std::string& name) { return name == "*" || name == namespace_name; });
  if (is_allowed) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "credentials \"", alias, "\" are not for ScaledObjects of namespace ", namespace_name));
}

absl::Status CheckHost(const Folder& folder, absl::string_view alias, absl::string_view host,
                       absl::string_view cluster_domain) {
  ASSIGN_OR_RETURN(const std::vector<std::string> allowed, folder.ReadList("hosts"));
  if (MatchesAny(allowed, host, cluster_domain)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "credentials \"", alias, "\" are not to be sent to ", absl::StripSuffix(host, ".")));
}

}  // namespace

absl::StatusOr<AliasCredentials> CredentialFolder::For(absl::string_view alias,
                                                       absl::string_view namespace_name,
                                                       absl::string_view host) const {
  if (path_.empty()) {
    return NotUsable(alias, "the scaler has none; --endpoint-credentials names their folder");
  }
  // A label, as the names of Secrets' mounts: no way out of the folder.
  if (!IsHostName(alias) || absl::StrContains(alias, '.')) {
    return NotUsable(alias, "use letters, digits and hyphens");
  }
  const Folder folder(path_, alias);
  if (!folder.Exists()) return NotUsable(alias, "the scaler has none of that name");
  RETURN_IF_ERROR(CheckNamespace(folder, alias, namespace_name));
  RETURN_IF_ERROR(CheckHost(folder, alias, host, cluster_domain_));
  AliasCredentials read;
  ASSIGN_OR_RETURN(read.username, folder.Read("username"));
  ASSIGN_OR_RETURN(read.password, folder.Read("password"));
  ASSIGN_OR_RETURN(read.bearer_token, folder.Read("token"));
  ASSIGN_OR_RETURN(read.ca_pem, folder.Read("ca.crt"));
  ASSIGN_OR_RETURN(read.cert_pem, folder.Read("tls.crt"));
  ASSIGN_OR_RETURN(read.key_pem, folder.Read("tls.key"));
  if (read.cert_pem.empty() != read.key_pem.empty()) {
    return NotUsable(alias, "of tls.crt and tls.key one is missing");
  }
  return read;
}

}  // namespace gpuscaler
