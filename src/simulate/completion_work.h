// The requests that `load` sends.
#pragma once

#include <string>

namespace gpuscaler {

struct CompletionWork {
  int prompt_tokens = 128;
  int max_tokens = 64;
  std::string model;  // empty: the request names none
};

// Returns the target, with /v1/completions if it has no path.
std::string CompletionUrl(const std::string& target);

// Returns a chat request if the URL's path ends with chat/completions.
std::string CompletionBody(const std::string& url, const CompletionWork& work);

}  // namespace gpuscaler
