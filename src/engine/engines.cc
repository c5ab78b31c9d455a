#include "engine/engines.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

std::string NamesOf(absl::FunctionRef<bool(const Engine&)> matches) {
  std::vector<absl::string_view> names;
  for (const Engine* const engine : Engines()) {
    if (matches(*engine)) names.push_back(engine->name);
  }
  return absl::StrJoin(names, ", ");
}

absl::Status UnknownExposition() {
  return absl::NotFoundError(absl::StrCat("the page of no engine that is known: ",
                                          NamesOf([](const Engine&) { return true; })));
}

absl::Status EmptyExposition() {
  const auto may_be_empty = [](const Engine& engine) {
    return engine.exposition != nullptr && engine.exposition->may_be_empty;
  };
  return absl::NotFoundError(absl::StrCat("its page is empty, as those of ", NamesOf(may_be_empty),
                                          " may be before their first request"));
}

bool IsJson(absl::string_view page) {
  return absl::StartsWith(absl::StripLeadingAsciiWhitespace(page), "{");
}

}  // namespace

std::span<const Engine* const> Engines() {
  // Newer NIM images export vLLM's metrics as well, and Triton those of its backends.
  static const std::array<const Engine*, 10> engines = {
      &Nim(),      &Triton(), &Vllm(), &Sglang(),   &Tgi(),
      &LlamaCpp(), &Ollama(), &Tei(),  &LmDeploy(), &TrtllmServe()};
  return engines;
}

bool IsDefaultPort(const Engine& engine, int port) {
  return port == engine.port || (engine.newer_port != 0 && port == engine.newer_port);
}

const Engine* EngineNamed(absl::string_view name) {
  const auto found = std::ranges::find(Engines(), name, [](const Engine* e) { return e->name; });
  return found == Engines().end() ? nullptr : *found;
}

const Engine* EngineOfInfo(absl::string_view info) {
  const auto found = std::ranges::find_if(Engines(), [info](const Engine* e) {
    return !e->info_mark.empty() && absl::StrContains(info, e->info_mark);
  });
  return found == Engines().end() ? nullptr : *found;
}

absl::StatusOr<const Engine*> Recognise(absl::string_view page, ExpositionFormat format) {
  if (IsJson(page)) {
    RETURN_IF_ERROR(Ollama().read(page, {}).status());
    return &Ollama();
  }
  const std::span<const Engine* const> engines = Engines();
  size_t recognised = engines.size();
  bool is_empty = true;
  const auto look = [&](absl::string_view name) {
    is_empty = false;
    const auto marked = std::ranges::find_if(engines.first(recognised), [&](const Engine* e) {
      return e->exposition != nullptr && IsMarked(*e->exposition, name);
    });
    recognised = static_cast<size_t>(marked - engines.begin());
    return false;
  };
  RETURN_IF_ERROR(ReadPage(page, format, look, [](const ExpositionSample&) {}));
  if (recognised < engines.size()) return engines[recognised];
  return is_empty ? EmptyExposition() : UnknownExposition();
}

}  // namespace gpuscaler
