#include "lab/demo.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "app/version.h"
#include "base/bound_port.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lab/demo_triggers.h"
#include "nlohmann/json.hpp"
#include "serve/test_http_client.h"

namespace gpuscaler {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

bool IsNeverStopped(absl::Duration /*wait*/) { return false; }

TEST(Demo, RefusesAnUnknownProfile) {
  Demo demo({.profile = "vlm"}, IsNeverStopped);
  EXPECT_EQ(demo.Run().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Demo, ReportsWhyTheServerCannotStart) {
  auto taken = BoundPort::Open("127.0.0.1", 0);
  ASSERT_TRUE(taken.ok()) << taken.status();
  const int port = taken->port();
  const auto listening = (*std::move(taken)).Listen();
  ASSERT_TRUE(listening.ok()) << listening.status();
  Demo demo({.speed = 600, .port = port}, IsNeverStopped);
  const absl::Status status = demo.Run().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr(absl::StrCat(port)));
  close(*listening);
}

TEST(Demo, ReadsThePricesOfItsGpus) {
  const std::string missing = testing::TempDir() + "/no-prices.csv";
  Demo demo({.speed = 600, .prices = missing}, IsNeverStopped);
  EXPECT_THAT(std::string(demo.Run().status().message()), HasSubstr(missing));
}

// Returns the commit that the web page shows.
std::string ShownCommit(int web_port) {
  const auto reply = Request(web_port, "GET", "/api/v1/status");
  EXPECT_TRUE(reply.ok()) << reply.status();
  return reply.ok() ? json::parse(reply->body).at("commit").get<std::string>() : "";
}

// The GPUs of the demo's node, as the web page gets them.
class ShownGpus {
 public:
  explicit ShownGpus(int web_port) {
    const auto reply = Request(web_port, "GET", "/api/v1/fleet/demo");
    if (reply.ok() && reply->status == 200) gpus_ = json::parse(reply->body).at("gpus");
  }

  void ExpectThatPodsHoldThoseInUse() const {
    const std::string workload = absl::StrCat(kDemoNamespace, "/", kDemoName);
    for (const json& gpu : gpus_) {
      if (gpu.at("state") == "f") {
        EXPECT_EQ(gpu.at("pods"), json::array()) << gpu;
        EXPECT_EQ(gpu.at("owner"), "") << gpu;
      } else if (gpu.at("state") != "u") {
        ASSERT_EQ(gpu.at("pods").size(), 1) << gpu;
        EXPECT_THAT(gpu.at("pods").at(0).get<std::string>(), StartsWith(workload + "-"));
        EXPECT_EQ(gpu.at("owner"), workload) << gpu;
      }
    }
  }

  // Letters of docs/api.yaml: "b" busy, "h" held at 0, "s" starting, "f" free.
  bool AnyIs(const std::string& states) const {
    return std::ranges::any_of(gpus_, [&](const json& gpu) {
      return states.find(gpu.at("state").get<std::string>()) != std::string::npos;
    });
  }

 private:
  json gpus_ = json::array();
};

TEST(Demo, PodsOfReplicasHoldItsGpus) {
  Demo* serving = nullptr;
  bool none_held = false, one_starts = false, one_is_ready = false;
  const auto look = [&](absl::Duration wait) {
    absl::SleepFor(wait);
    EXPECT_EQ(ShownCommit(serving->web_port()), CommitOfBuild().hash);
    const ShownGpus gpus(serving->web_port());
    gpus.ExpectThatPodsHoldThoseInUse();
    none_held |= gpus.AnyIs("f") && !gpus.AnyIs("bhsu");
    one_starts |= gpus.AnyIs("s") && gpus.AnyIs("f");
    one_is_ready |= gpus.AnyIs("bh") && gpus.AnyIs("f");
    return none_held && one_starts && one_is_ready;
  };
  Demo demo({.speed = 50, .max_replicas = 3}, look);
  serving = &demo;
  testing::internal::CaptureStdout();
  const auto result = demo.Run();
  const std::string shown = testing::internal::GetCapturedStdout();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(none_held && one_starts && one_is_ready)
      << none_held << one_starts << one_is_ready << shown;
}

}  // namespace
}  // namespace gpuscaler
