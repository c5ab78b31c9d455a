// The keys workload and podRegex, which select the pods that count.
#include <re2/re2.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/test_parsed_trigger.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;

TEST(WorkloadKeys, WorkloadIsANameOrKindAndName) {
  EXPECT_EQ(Parsed({}).workload, "");
  EXPECT_EQ(Parsed({}).pod_regex, nullptr);
  EXPECT_EQ(Parsed({{"workload", "llm"}}).workload, "llm");
  EXPECT_EQ(Parsed({{"workload", "llm"}}).workload_kind, "");
  const Trigger trigger = Parsed({{"workload", "StatefulSet/llm.v2"}});
  EXPECT_EQ(trigger.workload, "llm.v2");
  EXPECT_EQ(trigger.workload_kind, "StatefulSet");
  for (const char* wrong : {"", "/llm", "Deployment/", "a/b/c", "apps.v1/llm", "Llm", "llm *"}) {
    EXPECT_THAT(Refused({{"workload", wrong}}), HasSubstr("use NAME or Kind/NAME")) << wrong;
  }
}

TEST(WorkloadKeys, WordsOfKubectlAreNoKinds) {
  EXPECT_EQ(Refused({{"workload", "deploy/llm"}}),
            "workload=\"deploy/llm\": use NAME or Kind/NAME, such as llm or Deployment/llm: "
            "\"deploy\" is a word of kubectl's, and no kind; did you mean \"Deployment/llm\"?");
  EXPECT_THAT(Refused({{"workload", "LeaderWorkerSets/llm"}}),
              HasSubstr("did you mean \"LeaderWorkerSet/llm\"?"));
  EXPECT_THAT(Refused({{"workload", "statefulset.apps/llm"}}),
              HasSubstr("did you mean \"StatefulSet/llm\"?"));
  EXPECT_EQ(Parsed({{"workload", "deployment/llm"}}).workload_kind, "deployment");
  EXPECT_EQ(Parsed({{"workload", "Notebook/llm"}}).workload_kind, "Notebook") << "somebody's own";
}

TEST(WorkloadKeys, PodRegexIsCheckedAndItsErrorIsRe2s) {
  const Trigger trigger = Parsed({{"podRegex", "llm-[0-9]+"}});
  ASSERT_NE(trigger.pod_regex, nullptr);
  EXPECT_EQ(trigger.pod_regex->pattern(), "llm-[0-9]+");
  EXPECT_THAT(Refused({{"podRegex", "llm-(a"}}), HasSubstr("missing ): llm-(a"));
  EXPECT_THAT(Refused({{"podRegex", std::string(300, 'a')}}), HasSubstr("up to 253 characters"));
  EXPECT_THAT(Refused({{"podRegex", "((a{100}){100}){100}"}}), HasSubstr("podRegex="));
  EXPECT_THAT(Refused({{"podRegex", "(abcdefghij){100}"}}),
              HasSubstr(" instructions of RE2, at most 500: repeat less"));
  for (const std::string& regex : {std::string(253, 'a'), std::string("llm-.{1,63}-[^-]{1,63}")}) {
    Parsed({{"podRegex", regex}});
  }
}

TEST(WorkloadKeys, OnlyOneKeySelectsPodsAndOnlyInItsScope) {
  EXPECT_THAT(Refused({{"workload", "llm"}, {"podRegex", "llm-.*"}}),
              HasSubstr("podRegex and workload: each names the pods that count"));
  EXPECT_THAT(Refused({{"workload", "llm"}, {"scope", "node"}}),
              HasSubstr("workload: scope node counts all GPUs"));
  EXPECT_EQ(Parsed({{"workload", "llm"}, {"scope", "workload"}}).workload, "llm");
}

}  // namespace
}  // namespace gpuscaler
