#include "role/allowed_namespaces.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(AllowedNamespaces, EachPairAllowsOneNamespace) {
  const auto allowed = ParseAllowedNamespaces("team-a:team-b, team-a:models,3d:team-a");
  ASSERT_TRUE(allowed.ok()) << allowed.status();
  EXPECT_THAT(*allowed, UnorderedElementsAre(Pair("team-a", "team-b"), Pair("team-a", "models"),
                                             Pair("3d", "team-a")));
}

TEST(AllowedNamespaces, EmptyTextAllowsNone) {
  const auto allowed = ParseAllowedNamespaces("");
  ASSERT_TRUE(allowed.ok()) << allowed.status();
  EXPECT_THAT(*allowed, IsEmpty());
}

TEST(AllowedNamespaces, ErrorHasTheBadPairAndTheReason) {
  struct Case {
    const char* text;
    const char* want;
  };
  const std::string long_name(64, 'a');
  const std::string too_long = "a:" + long_name;
  for (const Case& test : {
           Case{"team-a", "\"team-a\" is not two names with a colon between them"},
           Case{"a:b:c", "\"a:b:c\" is not two names"},
           Case{"a:b,", "\"\" is not two names"},
           Case{"a:", "\"a:\" names \"\", which no namespace is called"},
           Case{"a:*", "names \"*\", which no namespace is called"},
           Case{"Team:b", "names \"Team\""},
           Case{"a:-b", "names \"-b\""},
           Case{"a:b c", "names \"b c\""},
           Case{too_long.c_str(), "which no namespace is called"},
           Case{"a:a", "\"a:a\" opens nothing: a namespace sees its own pods"},
           Case{"a:b,c:d,a:b", "\"a:b\" is given twice"},
       }) {
    const auto allowed = ParseAllowedNamespaces(test.text);
    EXPECT_EQ(allowed.status().code(), absl::StatusCode::kInvalidArgument) << test.text;
    EXPECT_THAT(std::string(allowed.status().message()), HasSubstr(test.want)) << test.text;
  }
}

}  // namespace
}  // namespace gpuscaler
