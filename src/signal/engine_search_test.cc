#include "signal/engine_search.h"

#include <set>

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workload/test_proc.h"

namespace gpuscaler {
namespace {

using testing::Contains;
using testing::HasSubstr;

// One pod with a GPU; only its address is known.
class EngineSearchTest : public testing::Test {
 protected:
  EngineSearchTest() {
    snapshot_.taken_at = clock_.Now();
    snapshot_.pods.push_back({.namespace_name = "shop", .name = "web-0", .address = "10.1.2.3"});
    snapshot_.gpus.push_back({.uuid = "GPU-0"});
    snapshot_.gpus[0].holders.push_back({.pod = 0, .container = "engine"});
    search_.Update(snapshot_, {"shop"});
  }

  // Probes until no server is due; all return `answer`. Returns the ports.
  std::set<int> ProbeAll(const absl::Status& answer) {
    std::set<int> ports;
    for (auto engines = search_.Targets(); !engines.empty(); engines = search_.Targets()) {
      for (const EngineAddress& engine_address : engines) {
        ports.insert(engine_address.port);
        search_.Take(engine_address, {.at = clock_.Now(), .reading = answer});
      }
    }
    return ports;
  }

  FakeClock clock_;
  TestProc proc_;
  NodeSnapshot snapshot_;
  EngineSearch search_{clock_, proc_.folders()};
};

TEST_F(EngineSearchTest, ProbesTheDefaultPortsOfAllEngineVersions) {
  const std::set<int> probed = ProbeAll(absl::UnavailableError("Connection refused"));
  EXPECT_THAT(probed, Contains(8000));
  EXPECT_THAT(probed, Contains(8080)) << "llama-server";
  EXPECT_THAT(probed, Contains(9931)) << "a later llama-server";
}

}  // namespace
}  // namespace gpuscaler
