#include "cost/range_answer.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string Matrix(absl::string_view result) {
  return absl::StrCat(R"({"status":"success","data":{"resultType":"matrix","result":[)", result,
                      "]}}");
}

TEST(ParseRangeAnswer, ReadsSeriesAndPoints) {
  const auto series = ParseRangeAnswer(
      R"({"status":"success","isPartial":false,"warnings":["w"],"data":{"stats":{"a":[1,{"b":2}]},)"
      R"("resultType":"matrix","result":[)"
      R"({"metric":{"__name__":"m","state":"busy"},"values":[[1767225600,"1"],)"
      R"([1767225660.781,"2.5e3"],[1767225720,"NaN"]],"histograms":[[1,{"count":"1"}]]},)"
      R"({"metric":{},"values":[]}]}})");
  ASSERT_TRUE(series.ok()) << series.status();
  ASSERT_THAT(*series, SizeIs(2));
  EXPECT_EQ((*series)[0].labels.at("state"), "busy");
  ASSERT_THAT((*series)[0].points, SizeIs(2));
  EXPECT_EQ((*series)[0].points[1].at, absl::FromUnixMillis(1'767'225'660'781));
  EXPECT_EQ((*series)[0].points[1].value, 2500);
  EXPECT_THAT((*series)[1].points, SizeIs(0));
}

TEST(ParseRangeAnswer, ErrorsAreTheServersOwn) {
  const absl::Status error =
      ParseRangeAnswer(R"({"status":"error","errorType":"bad_data","error":"no such \u001bstep"})")
          .status();
  EXPECT_EQ(error.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("no such ?step"));
}

TEST(ParseRangeAnswer, RefusesAllElse) {
  for (const std::string& json :
       {std::string(),
        std::string("[]"),
        std::string("{}"),
        std::string("<html>"),
        std::string(R"({"status":"success","data":{"resultType":"vector","result":[]}})"),
        Matrix("1"),
        Matrix("[]"),
        Matrix(R"({"values":[1]})"),
        Matrix(R"({"values":[[1]]})"),
        Matrix(R"({"values":[["1"]]})"),
        Matrix(R"({"values":[[1,2]]})"),
        Matrix(R"({"values":[[1,"x"]]})"),
        Matrix(R"({"values":[[1,"-1"]]})"),
        Matrix(R"({"values":[[1,"+Inf"]]})"),
        Matrix(R"({"values":[[1,"1.1e10"]]})"),
        Matrix(R"({"values":[[-1,"1"]]})"),
        Matrix(R"({"values":[[1e300,"1"]]})"),
        Matrix(R"({"values":[[2,"1"],[2,"1"]]})"),
        Matrix(R"({"values":[[1,"1","1"]]})"),
        Matrix(R"({"metric":{"a":1}})"),
        Matrix(R"({"metric":{"a":{}}})"),
        Matrix(R"({"values":[[1,"1"]]})") + "x",
        std::string(R"({"status":"success","data":{"resultType":"matrix","result":[)")}) {
    EXPECT_EQ(ParseRangeAnswer(json).status().code(), absl::StatusCode::kInvalidArgument) << json;
  }
}

TEST(ParseRangeAnswer, DeepNestingIsNoRecursion) {
  const std::string deep =
      absl::StrCat(R"({"status":"success","data":{"a":)", std::string(100'000, '['),
                   std::string(100'000, ']'), R"(,"resultType":"matrix","result":[]}})");
  EXPECT_TRUE(ParseRangeAnswer(deep).ok());
}

}  // namespace
}  // namespace gpuscaler
