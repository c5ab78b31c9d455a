// Ollama [docs/api.md]. It has no metrics (ollama #3144), only the list of the models that it has
// loaded: whether it has one, and nothing of requests.
#include <string>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "signal/engines.h"

namespace gpuscaler {
namespace {

using Json = nlohmann::json;

absl::StatusOr<EngineReading> ReadOllama(absl::string_view page, const PageWish&) {
  if (page.size() > kLargestPage) {
    return absl::InvalidArgumentError(absl::StrCat("a page of more than ", kLargestPage, " bytes"));
  }
  const Json json = Json::parse(page.begin(), page.end(), nullptr, false);
  if (json.is_discarded()) return absl::InvalidArgumentError("the page is not JSON, or cut off");
  const auto models = json.is_object() ? json.find("models") : json.end();
  if (models == json.end() || !models->is_array()) {
    return absl::NotFoundError("\"models\", Ollama's list of loaded models, is not on the page");
  }
  EngineReading reading;
  for (const Json& model : *models) {
    const auto name = model.is_object() ? model.find("name") : model.end();
    if (name == model.end() || !name->is_string()) {
      return absl::InvalidArgumentError("a loaded model without \"name\"");
    }
    if (reading.models.size() == kMostModels) {
      return absl::InvalidArgumentError(
          absl::StrCat("a page with more than ", kMostModels, " models"));
    }
    reading.models.push_back({.model = name->get<std::string>()});
  }
  return reading;
}

}  // namespace

const Engine& Ollama() {
  static constexpr Engine kEngine = {
      .name = "ollama", .port = 11434, .path = "/api/ps", .marks = {}, .read = ReadOllama};
  return kEngine;
}

}  // namespace gpuscaler
