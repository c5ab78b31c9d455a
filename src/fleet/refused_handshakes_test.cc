#include "fleet/refused_handshakes.h"

#include <optional>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

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
                HandshakeFault::kOther},
           Case{"peer did not return a certificate", std::nullopt},
           Case{"ipv4:127.0.0.1:6001: Handshake read failed", std::nullopt},
           Case{"", std::nullopt},
       }) {
    EXPECT_EQ(HandshakeFaultOf(test.line), test.want) << test.line;
  }
}

}  // namespace
}  // namespace gpuscaler
