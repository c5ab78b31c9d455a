#include "simulate/completion_work.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {

std::string CompletionUrl(const std::string& target) {
  const size_t scheme = target.find("://");
  if (scheme == std::string::npos) return target;
  const size_t path = target.find('/', scheme + 3);
  const bool none = path == std::string::npos || path + 1 == target.size();
  return none ? absl::StrCat(absl::StripSuffix(target, "/"), "/v1/completions") : target;
}

std::string CompletionBody(const std::string& url, const CompletionWork& work) {
  // A short word is one token in most models.
  std::string prompt;
  for (int i = 0; i < work.prompt_tokens; ++i) absl::StrAppend(&prompt, i == 0 ? "the" : " the");
  nlohmann::json body = {{"max_tokens", work.max_tokens}};
  if (absl::EndsWith(url, "chat/completions")) {
    body["messages"] = {{{"role", "user"}, {"content", prompt}}};
  } else {
    body["prompt"] = prompt;
  }
  if (!work.model.empty()) body["model"] = work.model;
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace gpuscaler
