#include "signal/engine_prober.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Change = EngineProber::Change;

EngineAddress At(int port, const std::string& address = "10.1.2.3") {
  return {.address = address, .port = port, .namespace_name = "shop", .pod = "web-0"};
}

// A pod with servers that return scripted results.
class EngineProberTest : public testing::Test {
 protected:
  void Engine(int port) { results_[port] = absl::OkStatus(); }
  void NoEngine(int port) { results_[port] = absl::NotFoundError("it answers HTTP 404"); }
  void Refuses(int port) { results_[port] = absl::UnavailableError("Connection refused"); }

  Change Answer(const EngineAddress& engine_address) {
    const absl::Status& result = results_.at(engine_address.port);
    // The known engine keeps its name while it refuses connections.
    const bool is_one =
        result.ok() || (pod_.address() == engine_address && absl::IsUnavailable(result));
    absl::StatusOr<EngineReading> reading = EngineReading();
    if (!result.ok()) reading = result;
    const EngineUpdate update{.at = now_, .engine = is_one ? "vllm" : "", .reading = reading};
    return pod_.Take(engine_address, update);
  }

  // Probes until an engine is found or no server is due; returns the ports in that order.
  std::vector<int> Probe() {
    std::vector<int> ports;
    for (int i = 0; i < 20 && !pod_.answers(); ++i) {
      const auto engines = pod_.Targets(now_);
      if (engines.empty()) break;
      for (const EngineAddress& engine_address : engines) {
        ports.push_back(engine_address.port);
        Answer(engine_address);
      }
      if (pod_.address().has_value()) break;
    }
    return ports;
  }
  std::vector<int> Due() {
    std::vector<int> ports;
    for (const EngineAddress& engine_address : pod_.Targets(now_))
      ports.push_back(engine_address.port);
    return ports;
  }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  EngineProber pod_{now_};
  std::map<int, absl::Status> results_;
};

TEST_F(EngineProberTest, ProbesSequentiallyUntilAnEngineAnswers) {
  NoEngine(8000);
  Engine(3000);
  Engine(9000);
  pod_.SetCandidates({At(8000), At(3000), At(9000)});
  EXPECT_FALSE(pod_.WasProbed());
  EXPECT_THAT(Probe(), ElementsAre(8000, 3000));
  EXPECT_EQ(pod_.address(), At(3000));
  EXPECT_EQ(pod_.engine(), "vllm");
  EXPECT_TRUE(pod_.WasProbed());
  now_ += absl::Hours(1);
  EXPECT_THAT(Due(), ElementsAre(3000)) << "the others are left alone";
}

TEST_F(EngineProberTest, ProbesOfOtherServersBackOff) {
  NoEngine(3000);
  pod_.SetCandidates({At(3000)});
  std::vector<int64_t> gaps;
  absl::Time last = now_;
  for (int i = 0; i < 6; ++i) {
    while (Due().empty()) now_ += absl::Seconds(1);
    gaps.push_back(absl::ToInt64Seconds(now_ - last));
    last = now_;
    EXPECT_EQ(Answer(At(3000)), Change::kNone);
  }
  EXPECT_THAT(gaps, ElementsAre(0, 10, 20, 40, 60, 60));
}

TEST_F(EngineProberTest, ALoadingServerIsProbedOften) {
  Refuses(8000);
  pod_.SetCandidates({At(8000)});
  EXPECT_THAT(Probe(), ElementsAre(8000));
  now_ += kEngineStartsWithin - absl::Seconds(1);
  EXPECT_TRUE(pod_.NeedsSearch(now_));
  EXPECT_THAT(Probe(), ElementsAre(8000));
  now_ += kProbeInterval;
  EXPECT_FALSE(pod_.NeedsSearch(now_));
  EXPECT_THAT(Probe(), ElementsAre(8000));
  now_ += kProbeInterval;
  EXPECT_THAT(Due(), IsEmpty()) << "it has had its time to load";
  now_ += kSlowProbeInterval;
  Engine(8000);
  EXPECT_THAT(Probe(), ElementsAre(8000));
  EXPECT_TRUE(pod_.answers());
}

TEST_F(EngineProberTest, ANewServerIsProbedAtOnce) {
  NoEngine(3000);
  pod_.SetCandidates({At(3000)});
  Probe();
  Engine(8000);
  EXPECT_THAT(Due(), IsEmpty());
  pod_.SetCandidates({At(8000), At(3000)});
  EXPECT_THAT(Probe(), ElementsAre(8000));
}

TEST_F(EngineProberTest, OneMissedAnswerIsNoLoss) {
  Engine(8000);
  pod_.SetCandidates({At(8000)});
  Probe();
  Refuses(8000);
  EXPECT_EQ(Answer(At(8000)), Change::kNone);
  EXPECT_TRUE(pod_.NeedsSearch(now_)) << "its server may be elsewhere by now";
  now_ += kEngineLostAfter - absl::Milliseconds(1);
  Engine(8000);
  EXPECT_EQ(Answer(At(8000)), Change::kNone);
  now_ += absl::Milliseconds(1);
  Refuses(8000);
  EXPECT_EQ(Answer(At(8000)), Change::kNone) << "counted from its last answer on";
  EXPECT_TRUE(pod_.answers());
}

TEST_F(EngineProberTest, ALostEngineIsKeptAndFoundAgain) {
  Engine(8000);
  NoEngine(3000);
  pod_.SetCandidates({At(8000), At(3000)});
  Probe();
  Refuses(8000);
  Answer(At(8000));
  now_ += kEngineLostAfter;
  EXPECT_EQ(Answer(At(8000)), Change::kLost);
  EXPECT_FALSE(pod_.answers());
  EXPECT_EQ(pod_.address(), At(8000));
  EXPECT_THAT(Due(), ElementsAre(8000, 3000)) << "another one may have taken its place";
  EXPECT_EQ(Answer(At(3000)), Change::kNone);
  EXPECT_THAT(Due(), ElementsAre(8000));
  Engine(8000);
  EXPECT_EQ(Answer(At(8000)), Change::kFound);
  EXPECT_TRUE(pod_.answers());
}

TEST_F(EngineProberTest, AnEngineOnAnotherPortReplacesTheLostOne) {
  Engine(8000);
  pod_.SetCandidates({At(8000)});
  Probe();
  Refuses(8000);
  Engine(9000);
  pod_.SetCandidates({At(9000)});
  EXPECT_EQ(pod_.address(), At(8000));
  EXPECT_EQ(Answer(At(8000)), Change::kLost) << "no process listens there any more";
  EXPECT_THAT(Due(), ElementsAre(8000, 9000));
  EXPECT_EQ(Answer(At(9000)), Change::kFound);
  EXPECT_EQ(pod_.address(), At(9000));
  EXPECT_THAT(Due(), ElementsAre(9000));
}

TEST_F(EngineProberTest, AnotherServerInTheEnginesPlaceIsProbedLessOften) {
  Engine(8000);
  pod_.SetCandidates({At(8000)});
  Probe();
  NoEngine(8000);
  EXPECT_EQ(Answer(At(8000)), Change::kLost);
  EXPECT_THAT(Due(), ElementsAre(8000));
  EXPECT_EQ(Answer(At(8000)), Change::kNone);
  EXPECT_THAT(Due(), IsEmpty());
  now_ += kSlowProbeInterval;
  Engine(8000);
  EXPECT_THAT(Due(), ElementsAre(8000));
  EXPECT_EQ(Answer(At(8000)), Change::kFound);
}

TEST_F(EngineProberTest, AnEngineAtAnAddressNotThePodsIsDropped) {
  Engine(8000);
  pod_.SetCandidates({At(8000)});
  Probe();
  EXPECT_FALSE(pod_.SetCandidates({})) << "not known is no change";
  EXPECT_EQ(pod_.address(), At(8000));
  EXPECT_TRUE(pod_.SetCandidates({At(8000, "10.1.2.4")}));
  EXPECT_FALSE(pod_.address().has_value());
  EXPECT_THAT(pod_.Targets(now_), ElementsAre(At(8000, "10.1.2.4")));
}

TEST_F(EngineProberTest, UnexpectedAnswersAreDropped) {
  Engine(8000);
  Engine(3000);
  pod_.SetCandidates({At(8000), At(3000)});
  EXPECT_THAT(Due(), ElementsAre(8000));
  EXPECT_EQ(Answer(At(3000)), Change::kNone);
  EXPECT_FALSE(pod_.address().has_value());
}

TEST_F(EngineProberTest, ReasonListsTheServersErrors) {
  NoEngine(3000);
  Refuses(8000);
  pod_.SetCandidates({At(8000), At(3000)});
  Probe();
  EXPECT_THAT(pod_.WhyNone(), HasSubstr("none of its servers is a known engine: "));
  EXPECT_THAT(pod_.WhyNone(), HasSubstr("Connection refused; it answers HTTP 404"));
}

// llama-server returns HTTP 503 until its model is loaded; vLLM does not listen.
TEST_F(EngineProberTest, ServersThatRefuseOrAreBusyMayBeLoading) {
  Refuses(8000);
  results_[8080] = absl::UnavailableError("it answers HTTP 503");
  pod_.SetCandidates({At(8000), At(8080)});
  Probe();
  EXPECT_EQ(pod_.WhyNone(),
            "no engine answers yet, as while a model loads: Connection refused; it answers HTTP "
            "503");
}

}  // namespace
}  // namespace gpuscaler
