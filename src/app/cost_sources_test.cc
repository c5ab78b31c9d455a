#include "app/cost_sources.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "page/test_http_server.h"

namespace gpuscaler {
namespace {

absl::StatusOr<CostOutput> CostOfServerWith(const std::string& money,
                                            absl::Duration period = absl::Hours(24)) {
  const std::string row = absl::StrCat(
      R"({"key":"shop/llm","gpu_hours":{"busy":1,"idle":0.5,"starting":0,"free":0,"unknown":0},)",
      R"("total":1.5,)", money, "}");
  const std::string document =
      absl::StrCat(R"({"from":1767225600,"to":1767312000,"currency":"USD","note":"","rows":[)", row,
                   R"(],"total":)", row, "}");
  const TestHttpServer server(Serving([&](absl::string_view) { return Answer(document); }));
  const absl::Time to = absl::FromUnixSeconds(1'767'312'000);
  CostQuery query;
  query.from = to - period;
  query.to = to;
  query.by = GroupBy::kWorkload;
  const auto client = HttpClient::Open(absl::StrCat("http://127.0.0.1:", server.port()), {});
  return client.ok() ? CostFromServer(**client, query) : client.status();
}

TEST(CostFromServer, HasTheMoneyOfTheServer) {
  const auto output = CostOfServerWith(R"("cost":3.75,"idle_cost":1.25)");
  ASSERT_TRUE(output.ok()) << output.status();
  ASSERT_EQ(output->report.rows.size(), 1u);
  for (const CostRow& row : {output->report.rows[0], output->report.total}) {
    ASSERT_TRUE(row.cost.has_value() && row.idle_cost.has_value());
    EXPECT_EQ(row.cost->Text(), "3.75");
    EXPECT_EQ(row.idle_cost->Text(), "1.25");
  }
}

TEST(CostFromServer, LongerPeriodThanItsOwnIsAnErrorThatNamesPrometheus) {
  for (const absl::Duration period : {absl::Hours(24) + absl::Minutes(1), absl::Hours(7 * 24)}) {
    const auto output = CostOfServerWith(R"("cost":3.75,"idle_cost":1.25)", period);
    EXPECT_TRUE(absl::IsInvalidArgument(output.status())) << output.status();
    EXPECT_THAT(std::string(output.status().message()),
                testing::AllOf(testing::HasSubstr("24h"), testing::HasSubstr("--prometheus")));
  }
}

TEST(CostFromServer, MoneyIsEmptyWithoutPrices) {
  for (const char* money :
       {R"("cost":null,"idle_cost":null)", R"("cost":null)", R"("cost":1e300,"idle_cost":"1")"}) {
    const auto output = CostOfServerWith(money);
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_FALSE(output->report.total.cost.has_value()) << money;
    EXPECT_FALSE(output->report.total.idle_cost.has_value()) << money;
  }
}

}  // namespace
}  // namespace gpuscaler
