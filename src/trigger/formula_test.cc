#include "trigger/formula.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Formula, NamesThatAreNoFunctionsAreTriggers) {
  EXPECT_THAT(TriggersIn("min(queue / 5, gpu / 80)"), ElementsAre("queue", "gpu"));
  EXPECT_THAT(TriggersIn("queue>1e3 and not (gpu_2 < .5) ? float(queue) : 0"),
              ElementsAre("queue", "gpu_2", "queue"));
  EXPECT_THAT(TriggersIn("sum ([a, b]) / count([a]) ?? avg(c, 1.5)"),
              ElementsAre("a", "b", "a", "c"));
  EXPECT_THAT(TriggersIn("s0-queue"), ElementsAre("s0", "queue")) << "as expr-lang reads it";
  EXPECT_THAT(TriggersIn("1 + 2"), IsEmpty());
}

TEST(Formula, FormulasWithNamesOrTextsAreNotRead) {
  for (const char* formula : {"let x = queue; x + 1", "filter([a], {# > 1})", "a == \"b\" ? 1 : 0",
                              "$env['a']", "a + 1 // b", "a /* b */"}) {
    EXPECT_THAT(TriggersIn(formula), IsEmpty()) << formula;
  }
}

TEST(Formula, TriggersThatMakeAMinZero) {
  EXPECT_THAT(TriggersInMin("min(queue / 5, gpu / 80)"), ElementsAre("queue", "gpu"));
  EXPECT_THAT(TriggersInMin(" min ( gpu*0.1 , 3 ) "), ElementsAre("gpu"));
  EXPECT_THAT(TriggersInMin("min(queue, gpu + 1)"), ElementsAre("queue"));
  EXPECT_THAT(TriggersInMin("min(queue, max(gpu, 1))"), IsEmpty());
  EXPECT_THAT(TriggersInMin("min(queue, gpu) + 1"), IsEmpty());
  EXPECT_THAT(TriggersInMin("queue + gpu"), IsEmpty());
  EXPECT_THAT(TriggersInMin("min(queue, true, nil / 5)"), ElementsAre("queue"))
      << "words of expr-lang are no triggers";
}

}  // namespace
}  // namespace gpuscaler
