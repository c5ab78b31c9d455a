// Ollama [docs/api.md]. It has no metrics (ollama #3144), only the list of loaded models. The list
// shows no requests.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/engines.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxListBytes = size_t{256} << 10;  // bytes: some 500 models of about 450 bytes
constexpr int kMaxDepth = 16;                        // nesting levels; Ollama has 5

// Streams the page and keeps models[].name only, because every page that begins with "{" is parsed
// here.
class LoadedModels : public nlohmann::json_sax<Json> {
 public:
  absl::StatusOr<EngineReading> Reading(bool is_whole) && {
    if (is_too_deep_) {
      return absl::InvalidArgumentError(
          absl::StrCat("JSON more than ", kMaxDepth, " levels deep is not Ollama's"));
    }
    if (names_.size() > kMaxModels) {
      return absl::InvalidArgumentError(
          absl::StrCat("a page with more than ", kMaxModels, " models"));
    }
    if (!is_whole) return absl::InvalidArgumentError("the page is not JSON, or cut off");
    if (!has_list_) {
      return absl::NotFoundError("\"models\", Ollama's list of loaded models, is not on the page");
    }
    EngineReading reading;
    for (std::optional<std::string>& name : names_) {
      if (!name.has_value()) return absl::InvalidArgumentError("a loaded model without \"name\"");
      reading.models.push_back({.model = *std::move(name)});
    }
    return reading;
  }

  bool key(std::string& name) override {
    if (depth_ == 1) list_is_next_ = name == "models";
    if (IsInModel()) name_is_next_ = name == "name";
    return true;
  }
  bool string(std::string& value) override {
    if (!IsInModel() || !name_is_next_) return Scalar();
    names_.back() = std::move(value);
    return true;
  }
  bool start_object(size_t) override {
    if (!IsInList()) return Enter();
    is_object_ = true;
    return AddModel() && Enter();
  }
  bool start_array(size_t) override {
    if (IsInList()) {
      is_object_ = false;
      return AddModel() && Enter();
    }
    if (depth_ == 1 && list_is_next_) has_list_ = is_in_list_ = true;
    return Enter();
  }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }

  bool null() override { return Scalar(); }
  bool boolean(bool) override { return Scalar(); }
  bool number_integer(Json::number_integer_t) override { return Scalar(); }
  bool number_unsigned(Json::number_unsigned_t) override { return Scalar(); }
  bool number_float(Json::number_float_t, const Json::string_t&) override { return Scalar(); }
  bool binary(Json::binary_t&) override { return Scalar(); }
  bool parse_error(size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  bool IsInList() const { return is_in_list_ && depth_ == 2; }
  bool IsInModel() const { return is_in_list_ && depth_ == 3 && is_object_; }

  // A list element that is no object has no name.
  bool Scalar() { return !IsInList() || AddModel(); }

  bool AddModel() {
    names_.emplace_back();
    name_is_next_ = false;
    return names_.size() <= kMaxModels;
  }

  bool Enter() {
    is_too_deep_ = ++depth_ > kMaxDepth;
    return !is_too_deep_;
  }

  bool Leave() {
    if (--depth_ == 1) is_in_list_ = false;
    return true;
  }

  std::vector<std::optional<std::string>> names_;  // one per list element; empty: no name
  int depth_ = 0;
  bool is_too_deep_ = false;
  bool has_list_ = false;
  bool list_is_next_ = false;
  bool is_in_list_ = false;
  bool is_object_ = false;  // the current list element
  bool name_is_next_ = false;
};

absl::StatusOr<EngineReading> ReadOllama(absl::string_view page, const ScrapeInterest&) {
  if (page.size() > kMaxListBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("JSON of more than ", kMaxListBytes, " bytes is not Ollama's"));
  }
  LoadedModels models;
  const bool is_whole = Json::sax_parse(page.begin(), page.end(), &models);
  return std::move(models).Reading(is_whole);
}

}  // namespace

const Engine& Ollama() {
  static constexpr Engine kEngine = {.name = "ollama",
                                     .port = 11434,
                                     .path = "/api/ps",
                                     .exposition = nullptr,
                                     .read = ReadOllama};
  return kEngine;
}

}  // namespace gpuscaler
