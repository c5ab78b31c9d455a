#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/profile.h"
#include "trigger/trigger.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;

Profile ProfileIn(const std::string& yaml, const std::string& name) {
  const auto profiles = ParseProfiles(yaml);
  EXPECT_TRUE(profiles.ok()) << yaml << profiles.status();
  if (!profiles.ok() || !profiles->contains(name)) return {};
  return profiles->find(name)->second;
}

Trigger Only(const std::string& yaml, const std::string& name) {
  return ProfileIn(yaml, name).trigger;
}

TEST(ParseProfiles, ProfileStartsFromTheOneItExtends) {
  const auto [help, trigger] = ProfileIn(R"(
profiles:
  our-llm:
    targetValue: 70
    description: Ours
    extends: vllm-inference
    activationWindow: 3m
  our-small-llm: {extends: our-llm, targetValue: 60}
)",
                                         "our-small-llm");
  EXPECT_EQ(trigger.profile, "our-small-llm");
  EXPECT_EQ(help, "Ours");
  EXPECT_EQ(trigger.target, 60);
  EXPECT_EQ(trigger.activation_threshold, 5);
  EXPECT_EQ(trigger.activation_window, absl::Minutes(3));
  EXPECT_EQ(trigger.warmup, absl::Seconds(300));
  EXPECT_EQ(trigger.preallocated_memory, PreallocatedMemory::kPressure);
}

TEST(ParseProfiles, ExampleInTheDocsIsValid) {
  const Trigger profile = Only(std::string(ExampleProfiles()), "our-llm");
  EXPECT_EQ(profile.target, 70);
  EXPECT_EQ(profile.preallocated_memory, PreallocatedMemory::kPressure);
}

TEST(ParseProfiles, EveryKeyOfTheDocsIsKnown) {
  for (const KeyRow& key : ProfileKeys()) {
    const auto parsed = ParseProfiles(absl::StrCat("profiles: {a: {", key.name, ": \"\"}}"));
    EXPECT_THAT(std::string(parsed.status().message()),
                ::testing::Not(HasSubstr("use metricType, targetValue")))
        << key.name;
    EXPECT_FALSE(key.allowed.empty() || key.help.empty()) << key.name;
  }
}

TEST(ParseProfiles, EveryKeyReachesItsField) {
  const Trigger profile = Only(R"(
profiles:
  all:
    metricType: memory_used_percent
    targetValue: 65.5
    activationThreshold: 2
    window: 10s
    activationWindow: 20s
    warmupSeconds: 40
    scaleIn: hold
    standingMemory: literal
)",
                               "all");
  EXPECT_EQ(profile.metric, MetricType::kMemoryUsedPercent);
  EXPECT_EQ(profile.target, 65.5);
  EXPECT_EQ(profile.activation_threshold, 2);
  EXPECT_EQ(profile.window, absl::Seconds(10));
  EXPECT_EQ(profile.activation_window, absl::Seconds(20));
  EXPECT_EQ(profile.warmup, absl::Seconds(40));
  EXPECT_EQ(profile.scale_in, ScaleIn::kHold);
  EXPECT_EQ(profile.preallocated_memory, PreallocatedMemory::kLiteral);
}

TEST(ParseProfiles, TargetOfDemandInReplicasIsOneUnlessAProfileSetsIt) {
  const std::string yaml = R"(
profiles:
  plain: {metricType: demand_replicas}
  of-pressure: {extends: vllm-inference, metricType: demand_replicas}
  two: {metricType: demand_replicas, targetValue: 2}
  of-two: {extends: two, metricType: demand_replicas}
)";
  const auto profiles = ParseProfiles(yaml);
  ASSERT_TRUE(profiles.ok()) << profiles.status();
  const std::vector<std::pair<std::string, double>> rows = {
      {"plain", 1}, {"of-pressure", 1}, {"two", 2}, {"of-two", 2}};
  for (const auto& [name, want] : rows) {
    EXPECT_EQ(profiles->find(name)->second.trigger.target, want) << name;
    const auto trigger = ParseTrigger({{"profile", name}}, *profiles);
    ASSERT_TRUE(trigger.ok()) << name << trigger.status();
    EXPECT_EQ(trigger->metric, MetricType::kDemandReplicas) << name;
    EXPECT_EQ(trigger->target, want) << name;
  }
  const auto set = ParseTrigger({{"profile", "two"}, {"targetValue", "3"}}, *profiles);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->target, 3);
}

TEST(ParseProfiles, ThresholdOfAHoldingProfileLetsItGoToZero) {
  EXPECT_FALSE(Only("profiles: {a: {scaleIn: hold}}", "a").activation_threshold_given);
  EXPECT_TRUE(Only("profiles: {a: {scaleIn: hold, activationThreshold: 5}}", "a")
                  .activation_threshold_given);
}

TEST(ParseProfiles, PreallocatedMemoryIsActivityUnlessTheBaseSetsIt) {
  const std::string vram = "metricType: memory_used_percent";
  EXPECT_EQ(Only(absl::StrCat("profiles: {a: {", vram, "}}"), "a").preallocated_memory,
            PreallocatedMemory::kActivity);
  EXPECT_EQ(
      Only(absl::StrCat("profiles: {a: {extends: training, ", vram, "}}"), "a").preallocated_memory,
      PreallocatedMemory::kActivity);
  EXPECT_EQ(Only("profiles: {a: {extends: ollama, metricType: gpu_utilization}}", "a")
                .preallocated_memory,
            PreallocatedMemory::kLiteral);
}

TEST(ParseProfiles, BuiltInProfileCanBeReplaced) {
  EXPECT_EQ(Only("profiles: {ollama: {extends: ollama, targetValue: 50}}", "ollama").target, 50);
  EXPECT_EQ(Only("profiles: {ollama: {targetValue: 50}}", "batch").target, 70);
}

TEST(ParseProfiles, EmptyFileLeavesTheBuiltInProfiles) {
  for (const char* yaml : {"", "# nothing yet\n", "profiles:\n", "profiles: {}\n"}) {
    const auto profiles = ParseProfiles(yaml);
    ASSERT_TRUE(profiles.ok()) << yaml << profiles.status();
    EXPECT_EQ(profiles->size(), BuiltInProfiles().size()) << yaml;
  }
}

TEST(ParseProfiles, ErrorsNameLineProfileKeyValueAndWhatIsAllowed) {
  struct Row {
    const char* yaml;
    const char* want;
  };
  for (const Row& row : std::vector<Row>{
           {"profiles:\n  a:\n    targetValue: -1\n",
            "line 3: profile \"a\": targetValue=\"-1\": use a number above 0"},
           {"profiles:\n  a:\n    targetvalue: 1\n", "line 3: profile \"a\": \"targetvalue\""},
           {"profiles:\n  a:\n    targetvalue: 1\n", "did you mean \"targetValue\"?"},
           {"profiles:\n  a:\n    gpuIndex: 1\n", "use metricType, targetValue"},
           {"profiles:\n  a:\n    extends: ollamma\n",
            "line 3: profile \"a\": extends=\"ollamma\": no such profile above it or built in; "
            "did you mean \"ollama\"?"},
           {"profiles:\n  a: {extends: b}\n  b: {}\n", "extends=\"b\": no such profile above it"},
           {"profiles:\n  a:\n    window: 30\n", "a duration with its unit"},
           {"profiles:\n  a:\n    scaleIn: holt\n", "use follow or hold; did you mean \"hold\"?"},
           {"profiles:\n  a:\n    standingMemory: x\n", "use literal, pressure or activity"},
           {"profiles:\n  a:\n    standingMemory: pressure\n",
            "standingMemory needs metricType memory_used_percent"},
           {"profiles:\n  a:\n    window: 1s\n    window: 2s\n", "line 4: profile \"a\": "},
           {"profiles:\n  a: {}\n  a: {}\n", "line 3: profile \"a\" is there twice"},
           {"profiles:\n  a:\n    window: [1s]\n", "a key has one plain value"},
           {"profiles:\n  a b: {}\n", "line 2: profile \"a b\": use letters"},
           {"profiles:\n  a: 5\n", "line 2: profile \"a\": use keys"},
           {"profiles: 5\n", "line 1: profiles: use a map"},
           {"profile:\n  a: {}\n", "line 1: use the one key \"profiles\""},
           {"- a\n", "line 1: use a map"},
           {"profiles:\n  a: {window: 1s\n", "line "},
           {"profiles: *nowhere\n", "line 1: "},
           {"profiles: {}\n---\nprofiles: {b: {}}\n", "line 3: a second document: use one alone"},
       }) {
    const absl::Status status = ParseProfiles(row.yaml).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << row.yaml;
    EXPECT_THAT(std::string(status.message()), HasSubstr(row.want)) << row.yaml;
  }
}

TEST(ParseProfiles, HostileFilesAreRefused) {
  EXPECT_FALSE(ParseProfiles(std::string(1 << 21, ' ')).ok());
  EXPECT_FALSE(ParseProfiles(std::string(100000, '[')).ok());
  EXPECT_FALSE(ParseProfiles(std::string("\0\xff\xfe{{{", 6)).ok());
  EXPECT_FALSE(ParseProfiles("profiles: &a {x: *a}").ok());
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 30; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [");
    for (int j = 0; j < 9; ++j) absl::StrAppend(&bomb, j == 0 ? "*a" : ", *a", i - 1);
    absl::StrAppend(&bomb, "]\n");
  }
  EXPECT_FALSE(ParseProfiles(bomb).ok());
}

}  // namespace
}  // namespace gpuscaler
