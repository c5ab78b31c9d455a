#include "serve/probes.h"

#include "base/fake_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;

class ProbesTest : public testing::Test {
 protected:
  void Tick() {
    probes_.Ticked("sampler");
    probes_.Ticked("answers");
  }

  FakeClock clock_;
  Probes probes_{clock_, absl::Seconds(30), {"sampler", "answers"}};
};

TEST_F(ProbesTest, LiveWhileTheThreadsTick) {
  for (int tick = 0; tick < 5; ++tick) {
    clock_.Advance(absl::Seconds(30));
    EXPECT_EQ(probes_.Healthz().status, 200);
    Tick();
  }
}

TEST_F(ProbesTest, NotLiveWhileAThreadHangs) {
  Tick();
  clock_.Advance(absl::Milliseconds(30'001));
  EXPECT_EQ(probes_.Healthz().status, 503);
  EXPECT_THAT(probes_.Healthz().body,
              HasSubstr("the thread sampler has not moved for 30.001s, --hang-after=30s"));
  Tick();
  EXPECT_EQ(probes_.Healthz().status, 200);
}

TEST_F(ProbesTest, ThreadThatHangsFromTheStartIsNotLiveEither) {
  clock_.Advance(absl::Seconds(31));
  EXPECT_EQ(probes_.Healthz().status, 503);
}

TEST_F(ProbesTest, OneHangingThreadIsEnough) {
  Tick();
  clock_.Advance(absl::Seconds(31));
  probes_.Ticked("sampler");
  EXPECT_EQ(probes_.Healthz().status, 503);
  EXPECT_THAT(probes_.Healthz().body, HasSubstr("the thread answers has not moved for 31s"));
  probes_.Ticked("answers");
  EXPECT_EQ(probes_.Healthz().status, 200);
}

TEST_F(ProbesTest, ReadyFromServingToStopping) {
  EXPECT_EQ(probes_.Readyz().status, 503);
  probes_.SetServing();
  EXPECT_EQ(probes_.Readyz().status, 200);
  probes_.SetStopping();
  EXPECT_EQ(probes_.Readyz().status, 503);
  probes_.SetServing();
  EXPECT_EQ(probes_.Readyz().status, 503) << "SetServing() after the end has no effect";
}

TEST_F(ProbesTest, HungThreadDoesNotEndReadiness) {
  probes_.SetServing();
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(probes_.Readyz().status, 200);
}

}  // namespace
}  // namespace gpuscaler
