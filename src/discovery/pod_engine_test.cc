#include "discovery/pod_engine.h"

#include <map>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Change = PodEngine::Change;

EnginePlace At(int port, const std::string& address = "10.1.2.3") {
  return {.address = address, .port = port, .namespace_name = "shop", .pod = "web-0"};
}

// A pod's servers: what each says when it is asked.
class PodEngineTest : public testing::Test {
 protected:
  void Engine(int port) { says_[port] = absl::OkStatus(); }
  void NoEngine(int port) { says_[port] = absl::NotFoundError("it answers HTTP 404"); }
  void Refuses(int port) { says_[port] = absl::UnavailableError("Connection refused"); }

  Change Answer(const EnginePlace& place) {
    const absl::Status& says = says_.at(place.port);
    // One that is known, and not there, is still taken for what it was.
    const bool is_one = says.ok() || (pod_.engine() == place && absl::IsUnavailable(says));
    absl::StatusOr<EngineReading> reading = EngineReading();
    if (!says.ok()) reading = says;
    const EngineUpdate update{.at = now_, .engine = is_one ? "vllm" : "", .reading = reading};
    return pod_.Take(place, update);
  }

  // Asks and answers until nobody is left to ask for the first time; the ports in that order.
  std::vector<int> Ask() {
    std::vector<int> ports;
    for (int i = 0; i < 20 && !pod_.answers(); ++i) {
      const auto places = pod_.ToAsk(now_);
      if (places.empty()) break;
      for (const EnginePlace& place : places) {
        ports.push_back(place.port);
        Answer(place);
      }
      if (pod_.engine().has_value()) break;
    }
    return ports;
  }
  std::vector<int> Due() {
    std::vector<int> ports;
    for (const EnginePlace& place : pod_.ToAsk(now_)) ports.push_back(place.port);
    return ports;
  }

  absl::Time now_ = absl::FromUnixSeconds(1000);
  PodEngine pod_{now_};
  std::map<int, absl::Status> says_;
};

TEST_F(PodEngineTest, AsksOneAfterTheOtherUntilOneIsAnEngine) {
  NoEngine(8000);
  Engine(3000);
  Engine(9000);
  pod_.SetCandidates({At(8000), At(3000), At(9000)});
  EXPECT_FALSE(pod_.WasAsked());
  EXPECT_THAT(Ask(), ElementsAre(8000, 3000));
  EXPECT_EQ(pod_.engine(), At(3000));
  EXPECT_EQ(pod_.name(), "vllm");
  EXPECT_TRUE(pod_.WasAsked());
  now_ += absl::Hours(1);
  EXPECT_THAT(Due(), ElementsAre(3000)) << "the others are left alone";
}

TEST_F(PodEngineTest, WhoIsNoEngineIsAskedLessAndLessOften) {
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

TEST_F(PodEngineTest, WhoMayBeLoadingIsAskedOften) {
  Refuses(8000);
  pod_.SetCandidates({At(8000)});
  EXPECT_THAT(Ask(), ElementsAre(8000));
  now_ += kEngineStartsWithin - absl::Seconds(1);
  EXPECT_TRUE(pod_.WantsLook(now_));
  EXPECT_THAT(Ask(), ElementsAre(8000));
  now_ += kAskAgainAfter;
  EXPECT_FALSE(pod_.WantsLook(now_));
  EXPECT_THAT(Ask(), ElementsAre(8000));
  now_ += kAskAgainAfter;
  EXPECT_THAT(Due(), IsEmpty()) << "it has had its time to load";
  now_ += kAskSeldom;
  Engine(8000);
  EXPECT_THAT(Ask(), ElementsAre(8000));
  EXPECT_TRUE(pod_.answers());
}

TEST_F(PodEngineTest, NewServerIsAskedAtOnceBesideOneThatIsNone) {
  NoEngine(3000);
  pod_.SetCandidates({At(3000)});
  Ask();
  Engine(8000);
  EXPECT_THAT(Due(), IsEmpty());
  pod_.SetCandidates({At(8000), At(3000)});
  EXPECT_THAT(Ask(), ElementsAre(8000));
}

TEST_F(PodEngineTest, OneAnswerThatIsMissedIsNoLoss) {
  Engine(8000);
  pod_.SetCandidates({At(8000)});
  Ask();
  Refuses(8000);
  EXPECT_EQ(Answer(At(8000)), Change::kNone);
  EXPECT_TRUE(pod_.WantsLook(now_)) << "its server may be elsewhere by now";
  now_ += kEngineLostAfter - absl::Milliseconds(1);
  Engine(8000);
  EXPECT_EQ(Answer(At(8000)), Change::kNone);
  now_ += absl::Milliseconds(1);
  Refuses(8000);
  EXPECT_EQ(Answer(At(8000)), Change::kNone) << "counted from its last answer on";
  EXPECT_TRUE(pod_.answers());
}

TEST_F(PodEngineTest, LostEngineStaysThePodsAndIsFoundAgain) {
  Engine(8000);
  NoEngine(3000);
  pod_.SetCandidates({At(8000), At(3000)});
  Ask();
  Refuses(8000);
  Answer(At(8000));
  now_ += kEngineLostAfter;
  EXPECT_EQ(Answer(At(8000)), Change::kLost);
  EXPECT_FALSE(pod_.answers());
  EXPECT_EQ(pod_.engine(), At(8000));
  EXPECT_THAT(Due(), ElementsAre(8000, 3000)) << "another one may have taken its place";
  EXPECT_EQ(Answer(At(3000)), Change::kNone);
  EXPECT_THAT(Due(), ElementsAre(8000));
  Engine(8000);
  EXPECT_EQ(Answer(At(8000)), Change::kFound);
  EXPECT_TRUE(pod_.answers());
}

TEST_F(PodEngineTest, EngineThatIsBackOnAnotherPortTakesItsPlace) {
  Engine(8000);
  pod_.SetCandidates({At(8000)});
  Ask();
  Refuses(8000);
  Engine(9000);
  pod_.SetCandidates({At(9000)});
  EXPECT_EQ(pod_.engine(), At(8000));
  EXPECT_EQ(Answer(At(8000)), Change::kLost) << "nobody listens there any more";
  EXPECT_THAT(Due(), ElementsAre(8000, 9000));
  EXPECT_EQ(Answer(At(9000)), Change::kFound);
  EXPECT_EQ(pod_.engine(), At(9000));
  EXPECT_THAT(Due(), ElementsAre(9000));
}

TEST_F(PodEngineTest, AnotherServerInTheEnginesPlaceIsNotAskedEachTime) {
  Engine(8000);
  pod_.SetCandidates({At(8000)});
  Ask();
  NoEngine(8000);
  EXPECT_EQ(Answer(At(8000)), Change::kLost);
  EXPECT_THAT(Due(), ElementsAre(8000));
  EXPECT_EQ(Answer(At(8000)), Change::kNone);
  EXPECT_THAT(Due(), IsEmpty());
  now_ += kAskSeldom;
  Engine(8000);
  EXPECT_THAT(Due(), ElementsAre(8000));
  EXPECT_EQ(Answer(At(8000)), Change::kFound);
}

TEST_F(PodEngineTest, EngineAtAnAddressThatIsNotThePodsIsGivenUp) {
  Engine(8000);
  pod_.SetCandidates({At(8000)});
  Ask();
  EXPECT_FALSE(pod_.SetCandidates({})) << "not known is no change";
  EXPECT_EQ(pod_.engine(), At(8000));
  EXPECT_TRUE(pod_.SetCandidates({At(8000, "10.1.2.4")}));
  EXPECT_FALSE(pod_.engine().has_value());
  EXPECT_THAT(pod_.ToAsk(now_), ElementsAre(At(8000, "10.1.2.4")));
}

TEST_F(PodEngineTest, AnswersThatNobodyWaitsForAreDropped) {
  Engine(8000);
  Engine(3000);
  pod_.SetCandidates({At(8000), At(3000)});
  EXPECT_THAT(Due(), ElementsAre(8000));
  EXPECT_EQ(Answer(At(3000)), Change::kNone);
  EXPECT_FALSE(pod_.engine().has_value());
}

TEST_F(PodEngineTest, SaysWhatItsServersSaid) {
  NoEngine(3000);
  Refuses(8000);
  pod_.SetCandidates({At(8000), At(3000)});
  Ask();
  EXPECT_THAT(pod_.WhyNone(), HasSubstr("none of its servers is a known engine: "));
  EXPECT_THAT(pod_.WhyNone(), HasSubstr("Connection refused; it answers HTTP 404"));
}

// llama-server returns HTTP 503 until its model is loaded; vLLM does not listen.
TEST_F(PodEngineTest, ServersThatRefuseOrAreBusyMayBeLoading) {
  Refuses(8000);
  says_[8080] = absl::UnavailableError("it answers HTTP 503");
  pod_.SetCandidates({At(8000), At(8080)});
  Ask();
  EXPECT_EQ(pod_.WhyNone(),
            "no engine answers yet, as while a model loads: Connection refused; it answers HTTP "
            "503");
}

}  // namespace
}  // namespace gpuscaler
