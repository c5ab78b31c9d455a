// OpenAI's completion API, limited to vLLM's replies to `curl`: JSON in, JSON out, no socket. The
// simulated engine parses requests and writes replies; load and demo write requests.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "simulate/batch_engine.h"

namespace gpuscaler {

struct CompletionRequest {
  bool chat = false;
  bool stream = false;  // the answer is one event after the last token
  EngineRequest work;   // a token is about four letters of a prompt, or one number of a list
};

// INVALID_ARGUMENT: the body is wrong. NOT_FOUND: it is for another model.
absl::StatusOr<CompletionRequest> ParseCompletion(absl::string_view body, bool chat,
                                                  const std::string& model);

// `id` and `created` belong to the request.
std::string CompletionReply(const CompletionRequest& request, const std::string& model, int64_t id,
                            absl::Time created);

std::string ModelsReply(const std::string& model, absl::Time created);

std::string ErrorReply(int http_status, absl::string_view message);

// The requests of a load.
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
