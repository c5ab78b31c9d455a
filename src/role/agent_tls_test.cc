#include "role/agent_tls.h"

#include "base/fake_clock.h"
#include "base/test_ca.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "role/reloader.h"
#include "wire/test_certificates.h"

namespace gpuscaler {
namespace {

class AgentTlsTest : public testing::Test {
 protected:
  FakeClock clock_;
  const TestCa ca_{"our CA"};
  TestFolder folder_;
};

TEST_F(AgentTlsTest, UnusableFilesKeepTheLastGoodOnes) {
  AgentTls tls(WriteTls(folder_.path(), ca_.Issue("first"), ca_.pem()), clock_);
  const auto first = tls.Context();
  ASSERT_TRUE(first.ok()) << first.status();
  folder_.Write("key.pem", ca_.Issue("another").key);
  clock_.Advance(kReloadInterval);
  testing::internal::CaptureStderr();
  const auto later = tls.Context();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("is not the key of"));
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_EQ(*later, *first);

  WriteTls(folder_.path(), ca_.Issue("second"), ca_.pem());
  clock_.Advance(kReloadInterval);
  EXPECT_EQ(tls.Context().value(), *first) << "read once";
  EXPECT_EQ(tls.Context().value(), *first) << "not read again yet";
  clock_.Advance(kReloadInterval);
  const auto mended = tls.Context();
  ASSERT_TRUE(mended.ok()) << mended.status();
  EXPECT_NE(*mended, *first);
}

TEST_F(AgentTlsTest, BundleThatIsCutForOneReadIsNotUsed) {
  const TestCa other("another CA");
  const TestCertificate pair = ca_.Issue("aggregator");
  const std::string bundle = other.pem() + ca_.pem();
  AgentTls tls(WriteTls(folder_.path(), pair, bundle), clock_);
  const auto whole = tls.Context();
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (const std::string& text : {other.pem(), bundle, bundle}) {
    WriteTls(folder_.path(), pair, text);
    clock_.Advance(kReloadInterval);
    EXPECT_EQ(tls.Context().value(), *whole) << text.size();
  }
}

TEST_F(AgentTlsTest, UnusableFilesAtTheStartAreAnError) {
  AgentTls tls(WriteTls(folder_.path(), {.cert = "text", .key = "text"}, ca_.pem()), clock_);
  EXPECT_EQ(tls.Context().status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gpuscaler
