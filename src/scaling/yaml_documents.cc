#include "scaling/yaml_documents.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace gpuscaler {
namespace {

bool StartsDocument(absl::string_view line) {
  return absl::ConsumePrefix(&line, "---") && (line.empty() || absl::ascii_isspace(line[0]));
}

}  // namespace

std::vector<std::string> YamlDocuments(absl::string_view yaml) {
  std::vector<std::string> documents(1);
  size_t lines = 0;
  for (absl::string_view line : absl::StrSplit(yaml, '\n')) {
    if (StartsDocument(line)) documents.emplace_back(lines, '\n');
    absl::StrAppend(&documents.back(), line, "\n");
    ++lines;
  }
  return documents;
}

}  // namespace gpuscaler
