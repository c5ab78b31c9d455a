#include "engine/engines.h"

#include <algorithm>
#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

bool IsMarked(const Engine& engine, absl::string_view name) {
  return std::ranges::any_of(engine.marks, [name](absl::string_view mark) {
    const bool is_beginning = mark.back() == ':' || mark.back() == '_';
    return is_beginning ? absl::StartsWith(name, mark) : name == mark;
  });
}

bool IsJson(absl::string_view page) {
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(page), "{");
}

}  // namespace

std::span<const Engine* const> Engines() {
  // NIM has vLLM's names in newer images, Triton those of a backend that it runs.
  static const std::array<const Engine*, 10> engines = {
      &Nim(),      &Triton(), &Vllm(), &Sglang(),   &Tgi(),
      &LlamaCpp(), &Ollama(), &Tei(),  &LmDeploy(), &TrtllmServe()};
  return engines;
}

const Engine* EngineNamed(absl::string_view name) {
  const auto found = std::ranges::find(Engines(), name, [](const Engine* e) { return e->name; });
  return found == Engines().end() ? nullptr : *found;
}

absl::StatusOr<const Engine*> Recognise(absl::string_view page, PageFormat format) {
  if (IsJson(page)) {
    RETURN_IF_ERROR(Ollama().read(page, {}).status());
    return &Ollama();
  }
  const std::span<const Engine* const> engines = Engines();
  size_t recognised = engines.size();
  const auto look = [&](absl::string_view name) {
    const auto marked = std::ranges::find_if(engines.first(recognised),
                                             [&](const Engine* e) { return IsMarked(*e, name); });
    recognised = static_cast<size_t>(marked - engines.begin());
    return false;
  };
  RETURN_IF_ERROR(ReadPage(page, format, look, [](const PageSample&) {}));
  if (recognised < engines.size()) return engines[recognised];
  const auto name = [](std::string* out, const Engine* e) { absl::StrAppend(out, e->name); };
  return absl::NotFoundError(
      absl::StrCat("the page of no engine that is known: ", absl::StrJoin(engines, ", ", name)));
}

}  // namespace gpuscaler
