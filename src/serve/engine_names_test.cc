#include <set>
#include <string>

#include "engine/engines.h"
#include "gtest/gtest.h"
#include "trigger/demand_keys.h"

namespace gpuscaler {
namespace {

// Neither layer sees the other: what metadata may name as `engine`, and what can be read.
TEST(EngineNames, AreThoseOfTheEnginesThatCanBeRead) {
  std::set<std::string> read;
  for (const Engine* engine : Engines()) read.emplace(engine->name);
  std::set<std::string> named;
  for (const absl::string_view name : EngineNames()) named.emplace(name);
  EXPECT_EQ(named, read);
}

}  // namespace
}  // namespace gpuscaler
