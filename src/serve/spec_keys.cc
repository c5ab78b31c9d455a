#include "serve/spec_keys.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "trigger/trigger.h"

namespace gpuscaler {
namespace {

constexpr size_t kLongestValue = 1024;

std::vector<absl::string_view> SpecKeys() {
  std::vector<absl::string_view> keys = {"profile", "metricType", "metricName"};
  keys.insert(keys.end(), TargetKeys().begin(), TargetKeys().end());
  return keys;
}

}  // namespace

externalscaler::ScaledObjectRef OnlySpecKeys(const externalscaler::ScaledObjectRef& ref) {
  externalscaler::ScaledObjectRef only;
  for (const absl::string_view name : SpecKeys()) {
    for (const absl::string_view suffix : {"", "FromEnv"}) {
      const std::string key = absl::StrCat(name, suffix);
      const auto found = ref.scalermetadata().find(key);
      if (found == ref.scalermetadata().end() || found->second.size() > kLongestValue) continue;
      (*only.mutable_scalermetadata())[key] = found->second;
    }
  }
  return only;
}

}  // namespace gpuscaler
