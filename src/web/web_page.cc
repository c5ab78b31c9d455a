#include "web/web_page.h"

#include <openssl/sha.h>

#include <array>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "web/gzip.h"

namespace gpuscaler {
namespace {

constexpr size_t kMostHtmlBytes = size_t{8} << 20;

// Returns 'sha256-...' as CSP level 3 has it.
std::string HashSource(absl::string_view text) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest = {};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  const absl::string_view bytes(reinterpret_cast<const char*>(digest.data()), digest.size());
  return absl::StrCat("'sha256-", absl::Base64Escape(bytes), "'");
}

struct InlineHashes {
  std::vector<std::string> scripts;
  std::vector<std::string> styles;
};

// Hashes the text between the tags. What looks like a tag inside of an element is text.
InlineHashes HashesOf(absl::string_view html) {
  InlineHashes hashes;
  while (true) {
    const size_t script = html.find("<script"), style = html.find("<style");
    if (script == absl::string_view::npos && style == absl::string_view::npos) return hashes;
    const bool is_script = script < style;
    html.remove_prefix(is_script ? script : style);
    const size_t begin = html.find('>');
    const size_t end = html.find(is_script ? "</script" : "</style");
    if (begin == absl::string_view::npos || end == absl::string_view::npos || end < begin) {
      return hashes;
    }
    const absl::string_view text = html.substr(begin + 1, end - begin - 1);
    if (!text.empty()) (is_script ? hashes.scripts : hashes.styles).push_back(HashSource(text));
    html.remove_prefix(end);
  }
}

std::string SourcesText(absl::string_view directive, const std::vector<std::string>& sources) {
  return sources.empty() ? "" : absl::StrCat("; ", directive, " ", absl::StrJoin(sources, " "));
}

std::string PolicyOf(const InlineHashes& hashes) {
  return absl::StrCat("default-src 'none'", SourcesText("script-src", hashes.scripts),
                      SourcesText("style-src", hashes.styles),
                      "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                      "frame-ancestors 'none'");
}

}  // namespace

WebPage WebPageOf(absl::string_view gzip) {
  WebPage page{.html = nullptr, .gzip = nullptr, .content_security_policy = PolicyOf({})};
  if (gzip.empty()) return page;
  absl::StatusOr<std::string> html = Gunzip(gzip, kMostHtmlBytes);
  if (!html.ok()) return page;
  page.content_security_policy = PolicyOf(HashesOf(*html));
  page.html = std::make_shared<const std::string>(*std::move(html));
  page.gzip = std::make_shared<const std::string>(gzip);
  return page;
}

}  // namespace gpuscaler
