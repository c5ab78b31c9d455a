// The errors for invalid metadata.
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/test_parsed_trigger.h"
#include "trigger/trigger_keys.h"

namespace gpuscaler {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The server cuts longer status texts (wire/server_stream.cc).
constexpr size_t kLongestStatusText = 2000;

TEST(TriggerFaults, BadValuesNameKeyValueAndWhatIsAllowed) {
  struct Row {
    const char* key;
    const char* value;
    const char* want;
  };
  for (const Row& row : std::vector<Row>{
           {"targetValue", "nan", "targetValue=\"nan\": use a number above 0"},
           {"targetValue", "inf", "use a number above 0"},
           {"targetValue", "1e999", "use a number above 0"},
           {"targetValue", "-5", "use a number above 0"},
           {"targetValue", "0", "use a number above 0"},
           {"targetValue", "", "use a number above 0"},
           {"targetValue", "80%", "use a number above 0"},
           {"targetValue", " 80", "use a number above 0"},
           {"targetGpuUtilization", "0", "use a number above 0"},
           {"activationThreshold", "-0.1", "use a number, 0 or above"},
           {"gpuIndex", "-2", "use -1 (all)"},
           {"gpuIndex", "1.5", "use -1 (all)"},
           {"gpusPerReplica", "0", "use a whole number, 1 to 64"},
           {"gpusPerReplica", "65", "use a whole number, 1 to 64"},
           {"pollIntervalSeconds", "0", "use a whole number, 1 or above"},
           {"window", "30", "a duration with its unit"},
           {"window", "-5s", "a duration with its unit"},
           {"window", "16m", "0s to 15m"},
           {"activationWindow", "inf", "a duration with its unit"},
           {"warmupSeconds", "1801", "0 to 30m"},
           {"warmupSeconds", "31m", "0 to 30m"},
           {"preallocationWindow", "0s", "1s to 15m"},
           {"maxConcurrency", "0", "use a number above 0"},
           {"metricName", "a/b", "up to 200 letters"},
           {"metricName", "s0-gpu", "without a prefix such as s0-"},
           {"metricName", "", "up to 200 letters"},
           {"aggregation", "p90",
            "aggregation=\"p90\": use max, min, avg, sum, p95 or p99; did you mean \"p95\"?"},
           {"targetType", "value",
            "targetType=\"value\": use AverageValue or Value; did you mean \"Value\"?"},
           {"metricType", "gpu_utilisation", "did you mean \"gpu_utilization\"?"},
           {"metricType", "gpu_utilisation", "redis_stream_pending or redis_list_length"},
           {"profile", "vllm-inferense", "did you mean \"vllm-inference\"?"},
           {"scaleIn", "stop", "use follow or hold"},
       }) {
    EXPECT_THAT(Refused({{row.key, row.value}}), HasSubstr(row.want)) << row.key;
  }
}

TEST(TriggerFaults, MetricNamesThatOnlyLookPrefixedAreFine) {
  for (const char* name : {"s-gpu", "s0", "s0gpu", "sx-1", "S0-gpu", "gpu-s0-x"}) {
    EXPECT_EQ(Parsed({{"metricName", name}}).metric_name, name);
  }
}

TEST(TriggerFaults, UnknownKeysNameTheNearestOne) {
  EXPECT_THAT(Refused({{"targetvalue", "80"}}),
              HasSubstr("targetvalue=\"80\": no such key; did you mean \"targetValue\"?"));
  EXPECT_THAT(Refused({{"scalerAdress", "x"}}), HasSubstr("did you mean \"scalerAddress\"?"));
  EXPECT_THAT(Refused({{"zzzzzzzz", "x"}}), HasSubstr("use profile, metricType,"));
}

TEST(TriggerFaults, ErrorHasAllFaults) {
  EXPECT_EQ(Refused({{"gpuIndex", "x"}, {"scaleIn", "x"}, {"window", "30s"}}),
            "gpuIndex=\"x\": use -1 (all) or the index of one GPU of each node; "
            "scaleIn=\"x\": use follow or hold");
}

TEST(TriggerFaults, ErrorNamesTheNearestOfManyProfiles) {
  Profiles many = BuiltInProfiles();
  for (int i = 0; i < 2000; ++i) many[absl::StrCat("team-", i, "-inference")];
  const auto refused = ParseTrigger({{"profile", "team-77-inferense"}}, many).status();
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("profile=\"team-77-inferense\": use team-77-inference, "));
  EXPECT_THAT(std::string(refused.message()), HasSubstr(" others; did you mean "));
  EXPECT_LT(refused.message().size(), 400u);
}

TEST(TriggerFaults, FirstFaultIsShownHoweverLongItIs) {
  Profiles long_names;
  for (int i = 0; i < 20; ++i) long_names[absl::StrCat(std::string(500, 'p'), i)];
  const auto refused =
      ParseTrigger({{"aggregation", "p90"}, {"profile", "p"}, {"window", "x"}}, long_names);
  EXPECT_THAT(std::string(refused.status().message()),
              AllOf(HasSubstr("aggregation=\"p90\""), HasSubstr("; and 2 more")));
  const auto alone = ParseTrigger({{"profile", "p"}}, long_names);
  EXPECT_THAT(std::string(alone.status().message()),
              AllOf(StartsWith("profile=\"p\": use ppp"), EndsWith("ppp...")));
  EXPECT_LE(alone.status().message().size(), kLongestStatusText);
}

TEST(TriggerFaults, NumberOfOmittedFaultsSurvivesTheServersLimit) {
  Metadata metadata;
  for (int i = 0; i < 256; ++i) metadata[absl::StrCat("key", i, std::string(200, '\x01'))] = "v";
  const std::string message = Refused(metadata);
  EXPECT_LE(message.size(), kLongestStatusText);
  EXPECT_THAT(message, ContainsRegex("; and 2[0-9][0-9] more$"));
}

TEST(TriggerFaults, EachUnknownKeyIsNamed) {
  Metadata metadata;
  for (char letter = 'a'; letter <= 'x'; ++letter)
    metadata[absl::StrCat("windov", std::string(1, letter))] = "v";
  const std::string message = Refused(metadata);
  for (const auto& [key, value] : metadata) EXPECT_THAT(message, HasSubstr(key));
  EXPECT_THAT(message, HasSubstr("did you mean \"window\""));
}

TEST(TriggerFaults, ErrorOfAnyLengthNamesTheNumberOfOmittedFaults) {
  for (size_t length = 1; length <= 60; ++length) {
    Metadata metadata;
    for (int i = 0; i < 120; ++i) metadata[absl::StrCat("window", i)] = std::string(length, 'x');
    const std::string message = Refused(metadata);
    EXPECT_LE(message.size(), kLongestStatusText) << length;
    EXPECT_THAT(message, ContainsRegex("; and [0-9]+ more$")) << length;
  }
}

TEST(TriggerFaults, ValuesFromTheEnvironmentAreNeverShown) {
  for (const KeyRow& key : KeyRows()) {
    const std::string name = absl::StrCat(key.name, "FromEnv");
    const std::string message = Refused({{name, "/(hunter2-p91"}});
    EXPECT_THAT(message, Not(HasSubstr("hunter2"))) << name;
    EXPECT_THAT(message, Not(HasSubstr("did you mean"))) << name;
    EXPECT_THAT(message, HasSubstr(name));
  }
  const std::string unknown = Refused({{"tokenFromEnv", "hunter2"}});
  EXPECT_THAT(unknown, Not(HasSubstr("hunter2")));
  EXPECT_THAT(Refused({{"targetvalueFromEnv", "hunter2"}}),
              HasSubstr("did you mean \"targetValueFromEnv\"?"));
  EXPECT_THAT(Refused({{"metricTypeFromEnv", "power_draw"}, {"targetGpuUtilization", "5"}}),
              Not(HasSubstr("power_draw")));
}

}  // namespace
}  // namespace gpuscaler
