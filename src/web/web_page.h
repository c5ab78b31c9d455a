// The page of the web UI: one HTML file with its script and style in it.
#pragma once

#include <memory>
#include <string>

#include "absl/strings/string_view.h"

namespace gpuscaler {

// Returns the page of this build, compressed with gzip. Empty: the build had no npm.
absl::string_view BuiltInPage();

struct WebPage {
  std::shared_ptr<const std::string> html;  // null: there is no page
  std::shared_ptr<const std::string> gzip;
  // Allows the page's own script and style, by their hashes, and the API. Nothing else is loaded.
  std::string content_security_policy;
};

// `gzip` may be empty. There is no page either if it is no gzip stream.
WebPage WebPageOf(absl::string_view gzip);

}  // namespace gpuscaler
