#include "simulate/completion_api.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using Json = nlohmann::json;

constexpr int64_t kLettersOfAToken = 4;           // English text
constexpr int64_t kDefaultMaxTokens = 16;         // OpenAI's default
constexpr int64_t kMaxTokensOfRequest = 131'072;  // about the longest context of current models
constexpr char kToken[] = " token";

// A model name that is not UTF-8 must not throw, so invalid bytes are replaced.
std::string TextOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int64_t TokensOfText(const std::string& text) {
  return static_cast<int64_t>(text.size()) / kLettersOfAToken + 1;
}

// A prompt is a text, a list of texts or a list of tokens.
absl::StatusOr<int64_t> PromptTokens(const Json& prompt) {
  if (prompt.is_string()) return TokensOfText(prompt.get_ref<const std::string&>());
  if (!prompt.is_array()) return absl::InvalidArgumentError("prompt: use a text or a list");
  int64_t tokens = 0;
  for (const Json& part : prompt) {
    tokens += part.is_string() ? TokensOfText(part.get_ref<const std::string&>()) : 1;
  }
  return std::max<int64_t>(tokens, 1);
}

// Content is a text, or a list of parts with a text.
int64_t TokensOfContent(const Json& content) {
  if (content.is_string()) return TokensOfText(content.get_ref<const std::string&>());
  int64_t tokens = 0;
  for (const Json& part : content.is_array() ? content : Json::array()) {
    if (part.is_object()) tokens += TokensOfText(part.value("text", std::string()));
  }
  return tokens;
}

absl::StatusOr<int64_t> MessagesTokens(const Json& messages) {
  if (!messages.is_array() || messages.empty()) {
    return absl::InvalidArgumentError("messages: use a list of {\"role\", \"content\"}");
  }
  int64_t tokens = 0;
  for (const Json& message : messages) {
    if (!message.is_object()) {
      return absl::InvalidArgumentError("messages: use a list of {\"role\", \"content\"}");
    }
    tokens += TokensOfContent(message.value("content", Json()));
  }
  return std::max<int64_t>(tokens, 1);
}

absl::StatusOr<int64_t> MaxTokens(const Json& body) {
  for (const char* key : {"max_completion_tokens", "max_tokens"}) {
    const auto found = body.find(key);
    if (found == body.end() || found->is_null()) continue;
    const bool whole = found->is_number_unsigned();
    if (whole && *found >= 1U && *found <= static_cast<uint64_t>(kMaxTokensOfRequest)) {
      return found->get<int64_t>();
    }
    return absl::InvalidArgumentError(
        absl::StrCat(key, ": use a whole number from 1 to ", kMaxTokensOfRequest));
  }
  return kDefaultMaxTokens;
}

absl::StatusOr<CompletionRequest> FromJson(const Json& body, bool chat, const std::string& model) {
  if (!body.is_object()) return absl::InvalidArgumentError("the body is no JSON object");
  if (const std::string requested = body.value("model", model); requested != model) {
    return absl::NotFoundError(absl::StrCat("The model `", requested, "` does not exist."));
  }
  CompletionRequest request = {.chat = chat, .stream = body.value("stream", false)};
  const char* const prompt = chat ? "messages" : "prompt";
  if (!body.contains(prompt)) return absl::InvalidArgumentError(absl::StrCat(prompt, ": missing"));
  ASSIGN_OR_RETURN(request.work.prompt_tokens,
                   chat ? MessagesTokens(body[prompt]) : PromptTokens(body[prompt]));
  ASSIGN_OR_RETURN(request.work.max_tokens, MaxTokens(body));
  return request;
}

Json ChoiceOf(const CompletionRequest& request) {
  std::string text;
  for (int64_t i = 0; i < request.work.max_tokens; ++i) text += kToken;
  Json choice = {{"index", 0}, {"logprobs", nullptr}, {"finish_reason", "length"}};
  if (!request.chat) {
    choice["text"] = std::move(text);
  } else {
    choice[request.stream ? "delta" : "message"] = {{"role", "assistant"},
                                                    {"content", std::move(text)}};
  }
  return choice;
}

}  // namespace

absl::StatusOr<CompletionRequest> ParseCompletion(absl::string_view body, bool chat,
                                                  const std::string& model) {
  const Json json = Json::parse(body.begin(), body.end(), nullptr, /*allow_exceptions=*/false);
  try {
    return FromJson(json, chat, model);
  } catch (const Json::exception&) {  // a key with a value of another type
    return absl::InvalidArgumentError("model: use a text; stream: use true or false");
  }
}

std::string CompletionReply(const CompletionRequest& request, const std::string& model, int64_t id,
                            absl::Time created) {
  const char* const object = !request.chat     ? "text_completion"
                             : !request.stream ? "chat.completion"
                                               : "chat.completion.chunk";
  const EngineRequest& work = request.work;
  const Json reply = {{"id", absl::StrCat(request.chat ? "chatcmpl-" : "cmpl-", id)},
                      {"object", object},
                      {"created", absl::ToUnixSeconds(created)},
                      {"model", model},
                      {"choices", Json::array({ChoiceOf(request)})},
                      {"usage",
                       {{"prompt_tokens", work.prompt_tokens},
                        {"completion_tokens", work.max_tokens},
                        {"total_tokens", work.prompt_tokens + work.max_tokens}}}};
  if (!request.stream) return TextOf(reply);
  return absl::StrCat("data: ", TextOf(reply), "\n\ndata: [DONE]\n\n");
}

std::string ModelsReply(const std::string& model, absl::Time created) {
  const Json one = {{"id", model},
                    {"object", "model"},
                    {"created", absl::ToUnixSeconds(created)},
                    {"owned_by", "keda-gpu-scaler"}};
  return TextOf({{"object", "list"}, {"data", Json::array({one})}});
}

std::string ErrorReply(int http_status, absl::string_view message) {
  const char* const type = http_status == 404  ? "NotFoundError"
                           : http_status < 500 ? "BadRequestError"
                                               : "InternalServerError";
  return TextOf(
      {{"error", {{"message", std::string(message)}, {"type", type}, {"code", http_status}}}});
}

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
  Json body = {{"max_tokens", work.max_tokens}};
  if (absl::EndsWith(url, "chat/completions")) {
    body["messages"] = {{{"role", "user"}, {"content", prompt}}};
  } else {
    body["prompt"] = prompt;
  }
  if (!work.model.empty()) body["model"] = work.model;
  return TextOf(body);
}

}  // namespace gpuscaler
