#include "serve/spec_keys.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {
namespace {

constexpr std::array<absl::string_view, 6> kSpecKeys = {
    "profile",     "metricType",           "metricName",
    "targetValue", "targetGpuUtilization", "targetMemoryUtilization"};
constexpr size_t kLongestValue = 1024;

}  // namespace

externalscaler::ScaledObjectRef OnlySpecKeys(const externalscaler::ScaledObjectRef& ref) {
  externalscaler::ScaledObjectRef only;
  for (const absl::string_view name : kSpecKeys) {
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
