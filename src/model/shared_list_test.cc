#include "model/shared_list.h"

#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SharedList<std::string> CopyOf(const SharedList<std::string>& list) { return list; }

TEST(SharedList, CopiesShareTheirElements) {
  const SharedList<std::string> list = {"a", "b"};
  const SharedList<std::string> copy = CopyOf(list);
  EXPECT_EQ(&copy.front(), &list.front());
  EXPECT_EQ(copy, list);
}

TEST(SharedList, AChangedCopyLeavesTheOthersAsTheyWere) {
  const SharedList<std::string> list = {"a", "b"};
  SharedList<std::string> set = list, added = list, cleared = list;
  set[1] = "c";
  added.push_back("c");
  cleared.clear();
  EXPECT_THAT(set, ElementsAre("a", "c"));
  EXPECT_THAT(added, ElementsAre("a", "b", "c"));
  EXPECT_THAT(cleared, IsEmpty());
  EXPECT_THAT(list, ElementsAre("a", "b"));
}

TEST(SharedList, TheLastOwnerChangesItsElementsInPlace) {
  SharedList<std::string> list = {"a", "b"};
  const std::string* const first = &std::as_const(list).front();
  { const SharedList<std::string> copy = CopyOf(list); }
  list[1] = "c";
  EXPECT_EQ(&std::as_const(list).front(), first);
}

TEST(SharedList, ListsOfEqualElementsAreEqual) {
  EXPECT_EQ(SharedList<std::string>({"a"}), SharedList<std::string>({"a"}));
  EXPECT_NE(SharedList<std::string>({"a"}), SharedList<std::string>({"b"}));
  SharedList<std::string> emptied = {"a"};
  emptied.Own().clear();
  EXPECT_EQ(emptied, SharedList<std::string>());
}

}  // namespace
}  // namespace gpuscaler
