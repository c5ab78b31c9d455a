#include "wire/refused_handshakes.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/fake_clock.h"
#include "base/log.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

// Without their times.
std::vector<std::string> Lines(const std::string& log) {
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(log, '\n', absl::SkipEmpty())) {
    lines.emplace_back(line.substr(line.find("level=")));
  }
  return lines;
}

// Two aggregators without a certificate, of which each tries again every few seconds.
TEST(HandshakeLog, LogsEachFaultOnceInTenMinutesWithItsRemedy) {
  FakeClock clock;
  HandshakeLog log(clock);
  StartLogging(LogLevel::kInfo, LogFormat::kText);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 100; ++i) {
    log.Write(HandshakeFault::kNoCertificate, "none");
    clock.Advance(absl::Seconds(6) - absl::Milliseconds(1));
  }
  EXPECT_EQ(Lines(testing::internal::GetCapturedStderr()),
            std::vector<std::string>{
                "level=warn event=tls_handshake_failed reason=no_certificate why=none "
                "what_to_do=\"give the other side a certificate of the CA in --tls-client-ca\" "
                "dropped=0"});
  clock.Advance(absl::Milliseconds(100));
  testing::internal::CaptureStderr();
  log.Write(HandshakeFault::kNoCertificate, "none");
  EXPECT_THAT(Lines(testing::internal::GetCapturedStderr()),
              testing::ElementsAre(testing::HasSubstr("dropped=99")));
}

TEST(HandshakeLog, LogsFaultsIndependently) {
  FakeClock clock;
  HandshakeLog log(clock);
  testing::internal::CaptureStderr();
  for (int i = 0; i < kHandshakeFaultCount; ++i) log.Write(static_cast<HandshakeFault>(i), "so");
  EXPECT_EQ(Lines(testing::internal::GetCapturedStderr()).size(), size_t{kHandshakeFaultCount});
}

}  // namespace
}  // namespace gpuscaler
