#include "discovery/engine_search.h"

#include <set>

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workload/test_proc.h"

namespace gpuscaler {
namespace {

using testing::Contains;
using testing::HasSubstr;

// One pod with a GPU, of which nothing but its address is known.
class EngineSearchTest : public testing::Test {
 protected:
  EngineSearchTest() {
    snapshot_.taken_at = clock_.Now();
    snapshot_.pods.push_back({.namespace_name = "shop", .name = "web-0", .address = "10.1.2.3"});
    snapshot_.gpus.push_back({.uuid = "GPU-0"});
    snapshot_.gpus[0].holders.push_back({.pod = 0, .container = "engine"});
    search_.Look(snapshot_, {"shop"});
  }

  // The ports of all servers that are asked before one is asked again, each of which answers so.
  std::set<int> AskAll(const absl::Status& answer) {
    std::set<int> ports;
    for (auto places = search_.ToAsk(); !places.empty(); places = search_.ToAsk()) {
      for (const EnginePlace& place : places) {
        ports.insert(place.port);
        search_.Take(place, {.at = clock_.Now(), .reading = answer});
      }
    }
    return ports;
  }

  FakeClock clock_;
  TestProc proc_;
  NodeSnapshot snapshot_;
  EngineSearch search_{clock_, proc_.folders()};
};

TEST_F(EngineSearchTest, AsksAtTheUsualPortsOfEnginesAndOfTheirLaterVersions) {
  const std::set<int> asked = AskAll(absl::UnavailableError("Connection refused"));
  EXPECT_THAT(asked, Contains(8000));
  EXPECT_THAT(asked, Contains(8080)) << "llama-server";
  EXPECT_THAT(asked, Contains(9931)) << "a later llama-server";
}

}  // namespace
}  // namespace gpuscaler
