#include <set>
#include <string>

#include "engine/engines.h"
#include "gtest/gtest.h"
#include "trigger/source_keys.h"

namespace gpuscaler {
namespace {

// The trigger layer has the names allowed for `engine`, and the engine layer the readable engines.
// Neither layer includes the other.
TEST(EngineNames, AreTheReadableEngines) {
  std::set<std::string> read;
  for (const Engine* engine : Engines()) read.emplace(engine->name);
  std::set<std::string> named;
  for (const absl::string_view name : EngineNames()) named.emplace(name);
  EXPECT_EQ(named, read);
}

}  // namespace
}  // namespace gpuscaler
