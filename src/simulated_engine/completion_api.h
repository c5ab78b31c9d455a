// OpenAI's completion API, as far as vLLM's answers to `curl` go: JSON in, JSON out, no socket.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "batching/batch_engine.h"

namespace gpuscaler {

struct CompletionRequest {
  bool chat = false;
  bool stream = false;  // the answer is one event, when all is done
  EngineRequest work;   // a token is about four letters of a prompt, or one number of a list
};

// A body for `model`. INVALID_ARGUMENT says what is wrong with it; NOT_FOUND: another model.
absl::StatusOr<CompletionRequest> ParseCompletion(absl::string_view body, bool chat,
                                                  const std::string& model);

// What answers it; `id` and `created` are of the request.
std::string CompletionReply(const CompletionRequest& request, const std::string& model, int64_t id,
                            absl::Time created);

std::string ModelsReply(const std::string& model, absl::Time created);

std::string ErrorReply(int http_status, absl::string_view message);

}  // namespace gpuscaler
