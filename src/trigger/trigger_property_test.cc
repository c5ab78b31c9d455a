#include <algorithm>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "trigger/test_parsed_trigger.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {
namespace {

// Metadata as a tenant may send it: known keys and garbage, valid values and garbage.
class RandomMetadata {
 public:
  explicit RandomMetadata(unsigned seed) : random_(seed) {}

  Metadata Next() {
    Metadata metadata;
    for (int left = Below(6); left > 0; --left) metadata[Key()] = Value();
    return metadata;
  }

 private:
  int Below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  std::string Garbage() {
    std::string bytes(static_cast<size_t>(Below(24)), '\0');
    for (char& byte : bytes) byte = static_cast<char>(Below(256));
    return bytes;
  }

  std::string Key() {
    if (Below(12) == 0) return Garbage();
    const std::vector<KeyRow>& keys = KeyRows();
    std::string key = keys[static_cast<size_t>(Below(static_cast<int>(keys.size())))].name;
    if (Below(10) == 0) key.push_back(static_cast<char>(Below(256)));
    return Below(8) == 0 ? key + "FromEnv" : key;
  }

  std::string Value() {
    constexpr const char* kValues[] = {
        "0",     "1",    "80",   "-1",        "1e3",    "nan",   "30s",
        "5m",    "1h",   "max",  "avg",       "p95",    "sum",   "hold",
        "Value", "node", "none", "training",  "ollama", "batch", "gpu_utilization",
        "64",    "7.25", "name", "s1-metric", "1e308",  "",      "memory_used_percent",
    };
    return Below(8) == 0 ? Garbage() : kValues[Below(static_cast<int>(std::size(kValues)))];
  }

  std::mt19937 random_;
};

TEST(ParseTriggerProperty, AnyMetadataIsRefusedWithAMessageOrAValidTrigger) {
  RandomMetadata random(20240601);
  int good = 0;
  for (int i = 0; i < 20000; ++i) {
    const Metadata metadata = random.Next();
    const auto trigger = ParseTrigger(metadata, BuiltInProfiles());
    const MetricSpec spec = SpecOf(metadata, BuiltInProfiles());
    ASSERT_GT(spec.target, 0) << Text(metadata);
    ASSERT_FALSE(spec.metric_name.empty()) << Text(metadata);
    if (!trigger.ok()) {
      ASSERT_EQ(trigger.status().code(), absl::StatusCode::kInvalidArgument) << Text(metadata);
      ASSERT_FALSE(trigger.status().message().empty()) << Text(metadata);
      ASSERT_TRUE(std::ranges::all_of(trigger.status().message(), [](char c) {
        return c >= ' ' && c <= '~';
      })) << trigger.status();
      continue;
    }
    ++good;
    ASSERT_EQ(spec.metric_name, trigger->metric_name) << Text(metadata);
    ASSERT_EQ(spec.target, trigger->target) << Text(metadata);
    ASSERT_LE(trigger->window, kLongestWindow) << Text(metadata);
    ASSERT_GE(trigger->activation_threshold, 0) << Text(metadata);
  }
  EXPECT_GT(good, 1000);
}

}  // namespace
}  // namespace gpuscaler
