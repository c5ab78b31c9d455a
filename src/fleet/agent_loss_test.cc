#include "fleet/agent_loss.h"

#include <string>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

constexpr char kNoTls[] =
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.7:6001: Ssl handshake "
    "failed: SSL_ERROR_SSL: error:0A00010B:SSL routines::wrong version number";
constexpr char kWrongName[] =
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.7:6001: Peer name "
    "keda-gpu-scaler-agents.gpu-scaler.svc is not in peer certificate";
constexpr char kClosed[] =
    "failed to connect to all addresses; last error: UNAVAILABLE: ipv4:10.0.0.7:6001: Socket "
    "closed";
constexpr char kRefused[] =
    "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.7:6001: Failed to "
    "connect to remote host: Connection refused";

TEST(LossOf, SaysWhatToDoAboutTls) {
  struct Case {
    std::string why;
    bool with_tls;
    std::string advice;
  };
  for (const Case& test : {
           Case{kNoTls, true,
                ": the agent speaks no TLS: give --tls-cert to both sides, or to neither"},
           Case{kWrongName, true, ": its certificate has to be for the host in --agents"},
           Case{kClosed, false, ": does the agent want TLS (--tls-cert)?"},
           Case{kClosed, true, ""},
           Case{"Socket closed", false, ""},
           Case{kRefused, false, ""},
           Case{kRefused, true, ""},
       }) {
    EXPECT_EQ(LossOf(absl::UnavailableError(test.why), test.with_tls),
              absl::UnavailableError(test.why + test.advice));
  }
}

TEST(LossOf, ServerWithoutTheServiceIsNoAgent) {
  EXPECT_EQ(LossOf(absl::UnimplementedError(""), false),
            absl::UnimplementedError("it answers, and is no agent (a scaler's port?)"));
}

TEST(LossOf, EndInOrderIsALoss) {
  EXPECT_EQ(LossOf(absl::OkStatus(), true),
            absl::UnavailableError("the agent has ended the stream"));
}

}  // namespace
}  // namespace gpuscaler
