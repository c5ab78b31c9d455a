#include "web/change_log.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const absl::Time kNow = absl::FromUnixSeconds(1'767'225'600);

WorkloadRow RowNamed(const std::string& name, int value) {
  return {.key = {"shop", name, "m"},
          .fields = absl::StrCat("{\"name\":\"", name, "\",\"value\":", value),
          .requested_at = kNow};
}

class ChangeLogTest : public testing::Test {
 protected:
  void Update(const std::vector<WorkloadRow>& rows, int64_t generation = 1, absl::Time now = kNow) {
    log_.Update(now, rows, FleetSize{.generation = generation, .nodes = 2, .gpus = 16});
  }

  ChangeLog log_;
};

TEST_F(ChangeLogTest, FirstBatchHasEverything) {
  Update({RowNamed("a", 1), RowNamed("b", 2)});
  const EventBatch batch = log_.Since(0);
  ASSERT_NE(batch.text, nullptr);
  EXPECT_EQ(
      *batch.text,
      "event: workloads\n"
      "data: {\"now\":1767225600,\"rows\":[{\"name\":\"a\",\"value\":1,\"requested_at\":"
      "1767225600},{\"name\":\"b\",\"value\":2,\"requested_at\":1767225600}],\"removed\":[]}\n\n"
      "event: fleet\n"
      "data: {\"now\":1767225600,\"version\":1,\"nodes\":2,\"gpus\":16}\n\n");
  EXPECT_EQ(log_.Since(batch.version).text, nullptr);
}

TEST_F(ChangeLogTest, ClientsGetWhatChangedSinceTheirVersion) {
  Update({RowNamed("a", 1), RowNamed("b", 1)});
  const int64_t first = log_.Since(0).version;
  Update({RowNamed("a", 2), RowNamed("b", 1)});
  const int64_t second = log_.Since(first).version;
  EXPECT_THAT(*log_.Since(first).text,
              AllOf(HasSubstr("\"a\""), Not(HasSubstr("\"b\"")), Not(HasSubstr("fleet"))));
  Update({RowNamed("a", 2), RowNamed("b", 3)}, 2);
  EXPECT_THAT(*log_.Since(second).text,
              AllOf(Not(HasSubstr("\"a\"")), HasSubstr("\"b\""), HasSubstr("event: fleet")));
  EXPECT_THAT(*log_.Since(first).text, AllOf(HasSubstr("\"a\""), HasSubstr("\"b\"")))
      << "a slow client misses nothing";
}

TEST_F(ChangeLogTest, UnknownFleetHasNoSize) {
  log_.Update(kNow, {}, std::nullopt);
  const int64_t unknown = log_.Since(0).version;
  EXPECT_THAT(*log_.Since(0).text, HasSubstr("\"version\":1,\"nodes\":null,\"gpus\":null"));
  Update({});
  const int64_t known = log_.Since(unknown).version;
  EXPECT_THAT(*log_.Since(unknown).text, HasSubstr("\"version\":2,\"nodes\":2,\"gpus\":16"));
  log_.Update(kNow, {}, std::nullopt);
  EXPECT_THAT(*log_.Since(known).text, HasSubstr("\"version\":3,\"nodes\":null"));
}

TEST_F(ChangeLogTest, TimesOfRequestsAreNoChange) {
  Update({RowNamed("a", 1)});
  const int64_t version = log_.Since(0).version;
  WorkloadRow requested = RowNamed("a", 1);
  requested.requested_at += absl::Seconds(5);
  Update({requested});
  EXPECT_EQ(log_.Since(version).text, nullptr);
}

TEST_F(ChangeLogTest, RemovedTriggersAreNamedUntilTheyReturn) {
  Update({RowNamed("a", 1), RowNamed("b", 1)});
  const int64_t first = log_.Since(0).version;
  Update({RowNamed("a", 1)});
  EXPECT_THAT(*log_.Since(first).text,
              HasSubstr("\"rows\":[],\"removed\":[[\"shop\",\"b\",\"m\"]]"));
  EXPECT_THAT(*log_.Since(0).text, HasSubstr("\"removed\":[]")) << "a new client had it never";
  Update({RowNamed("a", 1), RowNamed("b", 1)});
  EXPECT_THAT(*log_.Since(first).text, AllOf(HasSubstr("\"b\""), HasSubstr("\"removed\":[]")));
}

TEST_F(ChangeLogTest, OldestRemovalsAreForgottenIfThereAreVeryMany) {
  Update({RowNamed("first", 1), RowNamed("last", 1)});
  const int64_t before = log_.Since(0).version;
  Update({RowNamed("last", 1)});
  std::vector<WorkloadRow> many;
  for (int i = 0; i < 9'999; ++i) many.push_back(RowNamed(absl::StrCat("many-", i), 1));
  many.push_back(RowNamed("last", 1));
  Update(many);
  EXPECT_THAT(*log_.Since(before).text, HasSubstr("[\"shop\",\"first\",\"m\"]"));
  Update({});
  EXPECT_THAT(*log_.Since(before).text, AllOf(HasSubstr("[\"shop\",\"last\",\"m\"]"),
                                              Not(HasSubstr("[\"shop\",\"first\",\"m\"]"))));
}

TEST_F(ChangeLogTest, ClientsOfOneVersionShareTheText) {
  Update({RowNamed("a", 1)});
  EXPECT_EQ(log_.Since(0).text, log_.Since(0).text);
}

}  // namespace
}  // namespace gpuscaler
