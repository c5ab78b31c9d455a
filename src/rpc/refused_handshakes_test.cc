#include "rpc/refused_handshakes.h"

#include <optional>
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

TEST(RefusedHandshakes, LinesOfTheLogTellWhy) {
  struct Case {
    const char* line;
    std::optional<HandshakeFault> want;
  };
  for (const Case& test : {
           Case{"Handshake failed with fatal error SSL_ERROR_SSL: error:0A0000C7:SSL "
                "routines::peer did not return a certificate.",
                HandshakeFault::kNoCertificate},
           Case{"Handshake failed with fatal error SSL_ERROR_SSL: error:0A000086:SSL "
                "routines::certificate verify failed.",
                HandshakeFault::kUntrusted},
           Case{"Handshake failed with fatal error SSL_ERROR_SSL: error:0A000418:SSL "
                "routines::tlsv1 alert unknown ca.",
                HandshakeFault::kTurnedAway},
           Case{"Handshake failed with fatal error SSL_ERROR_SSL: error:0A00010B:SSL "
                "routines::wrong version number.",
                HandshakeFault::kNoTls},
           Case{"Handshake failed with fatal error SSL_ERROR_SSL: error:0A00009C:SSL "
                "routines::http request.",
                HandshakeFault::kNoTls},
           Case{"Handshake failed with fatal error SSL_ERROR_SSL: error:0A000102:SSL "
                "routines::unsupported protocol.",
                HandshakeFault::kOther},
           Case{"peer did not return a certificate", std::nullopt},
           Case{"ipv4:127.0.0.1:6001: Handshake read failed", std::nullopt},
           Case{"", std::nullopt},
       }) {
    EXPECT_EQ(HandshakeFaultOf(test.line), test.want) << test.line;
  }
}

TEST(RefusedHandshakes, CallThatFailedTellsOfAWrongName) {
  EXPECT_EQ(HandshakeFaultOfCall("failed to connect to all addresses; last error: UNKNOWN: "
                                 "ipv4:10.0.0.7:6001: Peer name agents.svc is not in peer "
                                 "certificate"),
            HandshakeFault::kWrongName);
  // Counted by its line in the log.
  EXPECT_EQ(HandshakeFaultOfCall("failed to connect to all addresses; last error: UNKNOWN: "
                                 "ipv4:10.0.0.7:6001: Ssl handshake failed: SSL_ERROR_SSL: "
                                 "error:0A000086:SSL routines::certificate verify failed"),
            std::nullopt);
}

// Two aggregators without a certificate, of which each tries again every few seconds.
TEST(HandshakeLog, FaultIsToldOnceInTenMinutesWithWhatToDo) {
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

TEST(HandshakeLog, FaultHidesNoOther) {
  FakeClock clock;
  HandshakeLog log(clock);
  testing::internal::CaptureStderr();
  for (int i = 0; i < kHandshakeFaults; ++i) log.Write(static_cast<HandshakeFault>(i), "so");
  EXPECT_EQ(Lines(testing::internal::GetCapturedStderr()).size(), size_t{kHandshakeFaults});
}

}  // namespace
}  // namespace gpuscaler
