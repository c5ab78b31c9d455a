// What `load` asks a server for.
#pragma once

#include <string>

namespace gpuscaler {

struct CompletionWork {
  int prompt_tokens = 128;
  int max_tokens = 64;
  std::string model;  // empty: none is named
};

// The target with /v1/completions where it has no path.
std::string CompletionUrl(const std::string& target);

// Of a chat where the URL's path ends with chat/completions.
std::string CompletionBody(const std::string& url, const CompletionWork& work);

}  // namespace gpuscaler
