#include "endpoint/credential_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/file_text.h"
#include "base/host_name.h"
#include "base/status_macros.h"
#include "endpoint/host_pattern.h"

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

// Where one alias's files are.
class Folder {
 public:
  Folder(absl::string_view path, absl::string_view alias)
      : path_(absl::StrCat(path, "/", alias)), alias_(alias) {}

  bool Exists() const {
    struct stat found;
    return stat(path_.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  }

  // A mounted Secret's files are links into a folder that "..data" leads to, and that is another
  // one after each change. Else the folder itself.
  std::string Current() const {
    const std::string data = absl::StrCat(path_, "/..data");
    const std::unique_ptr<char, decltype(&free)> real(realpath(data.c_str(), nullptr), free);
    return real == nullptr ? path_ : std::string(real.get());
  }

  absl::StatusOr<AliasFiles> ReadAt(const std::string& place) const {
    AliasFiles files;
    ASSIGN_OR_RETURN(const std::string namespaces, Read(place, "namespaces"));
    ASSIGN_OR_RETURN(const std::string hosts, Read(place, "hosts"));
    files.namespaces = Entries(namespaces);
    files.hosts = Entries(hosts);
    AliasCredentials& read = files.credentials;
    ASSIGN_OR_RETURN(read.username, Read(place, "username"));
    ASSIGN_OR_RETURN(read.password, Read(place, "password"));
    ASSIGN_OR_RETURN(read.bearer_token, Read(place, "token"));
    ASSIGN_OR_RETURN(read.ca_pem, Read(place, "ca.crt"));
    ASSIGN_OR_RETURN(read.cert_pem, Read(place, "tls.crt"));
    ASSIGN_OR_RETURN(read.key_pem, Read(place, "tls.key"));
    return files;
  }

 private:
  // Without the end of the line that editors put behind it; empty: there is no such file.
  absl::StatusOr<std::string> Read(const std::string& place, absl::string_view file) const {
    const std::string path = absl::StrCat(place, "/", file);
    struct stat found;
    const bool is_there = stat(path.c_str(), &found) == 0;
    if (!is_there && errno == ENOENT) return std::string();
    // A pipe would be waited for, by the thread that looks after all sources.
    if (is_there && !S_ISREG(found.st_mode)) {
      return NotUsable(alias_, absl::StrCat("its file ", file, " is no regular file"));
    }
    auto text = ReadFileText(path, kLargestFile);
    if (!text.ok()) return NotUsable(alias_, absl::StrCat("its file ", file, " cannot be read"));
    return std::string(absl::StripTrailingAsciiWhitespace(*text));
  }

  const std::string path_;
  const absl::string_view alias_;
};

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

absl::Status CheckHost(const AliasFiles& files, absl::string_view alias, absl::string_view host,
                       absl::string_view cluster_domain) {
  if (files.hosts.empty()) return NotUsable(alias, "its file hosts is missing or empty");
  if (MatchesAny(files.hosts, host, cluster_domain)) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat(
      "credentials \"", alias, "\" are not to be sent to ", absl::StripSuffix(host, ".")));
}

}  // namespace

absl::StatusOr<AliasFiles> CredentialFolder::Read(absl::string_view alias) const {
  constexpr int kMostTries = 5;
  if (path_.empty()) {
    return NotUsable(alias, "the scaler has none; --endpoint-credentials names their folder");
  }
  // A label, as the names of Secrets' mounts: no way out of the folder.
  if (!IsHostLabel(alias)) return NotUsable(alias, "use letters, digits, hyphens and underscores");
  const Folder folder(path_, alias);
  if (!folder.Exists()) return NotUsable(alias, "the scaler has none of that name");
  for (int i = 0; i < kMostTries; ++i) {
    const std::string place = folder.Current();
    absl::StatusOr<AliasFiles> files = folder.ReadAt(place);
    if (folder.Current() == place) return files;
  }
  return NotUsable(alias, "its files are being replaced");
}

absl::StatusOr<AliasCredentials> CredentialFolder::Evaluated(
    absl::string_view alias, const absl::StatusOr<AliasFiles>& files,
    absl::string_view namespace_name, absl::string_view host) const {
  RETURN_IF_ERROR(files.status());
  RETURN_IF_ERROR(CheckNamespace(*files, alias, namespace_name));
  RETURN_IF_ERROR(CheckHost(*files, alias, host, cluster_domain_));
  const AliasCredentials& read = files->credentials;
  if (read.cert_pem.empty() != read.key_pem.empty()) {
    return NotUsable(alias, "of tls.crt and tls.key one is missing");
  }
  return read;
}

}  // namespace gpuscaler
