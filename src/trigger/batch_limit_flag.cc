#include "trigger/batch_limit_flag.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "trigger/recommended_profile.h"

namespace gpuscaler {
namespace {

struct EngineFlag {
  absl::string_view engine;  // as the metadata key `engine` spells it
  absl::string_view name;
};
constexpr std::array<EngineFlag, 6> kEngineFlags = {{
    {"vllm", "--max-num-seqs"},
    {"sglang", "--max-running-requests"},
    {"tgi", "--max-batch-size"},
    {"lmdeploy", "--max-batch-size"},
    {"llama_cpp", "--parallel"},
    {"llama_cpp", "-np"},
}};

// Spellings of vLLM, SGLang and LMDeploy.
constexpr std::array<absl::string_view, 5> kDataParallelFlags = {
    "--data-parallel-size", "-dp", "--data-parallel-size-local", "--dp-size", "--dp"};

// Returns the last value of the flag, as argument parsers do, or "" if it is not given. vLLM
// accepts underscores for hyphens.
std::string ValueOf(absl::string_view flag, const std::vector<std::string>& words) {
  std::string value;
  for (auto word = words.begin(); word != words.end(); ++word) {
    const size_t equals = word->find('=');
    if (absl::StrReplaceAll(word->substr(0, equals), {{"_", "-"}}) != flag) continue;
    if (equals != std::string::npos) {
      value = word->substr(equals + 1);
    } else if (word + 1 != words.end()) {
      value = word[1];
    }
  }
  return value;
}

bool IsDataParallel(const std::vector<std::string>& words) {
  return std::ranges::any_of(kDataParallelFlags, [&](absl::string_view flag) {
    const std::string ranks = ValueOf(flag, words);
    return !ranks.empty() && ranks != "1";
  });
}

}  // namespace

std::optional<BatchLimitFlag> BatchLimitFlagIn(const ManifestWorkload& workload) {
  for (const ManifestContainer& container : workload.containers) {
    const RecommendedProfile* const suited = ProfileForImage(container.image);
    if (suited == nullptr || IsDataParallel(container.words)) continue;
    for (const EngineFlag& flag : kEngineFlags) {
      if (flag.engine != suited->engine) continue;
      int limit = 0;
      if (!absl::SimpleAtoi(ValueOf(flag.name, container.words), &limit) || limit < 1) continue;
      return BatchLimitFlag{.name = flag.name, .value = limit};
    }
  }
  return std::nullopt;
}

}  // namespace gpuscaler
