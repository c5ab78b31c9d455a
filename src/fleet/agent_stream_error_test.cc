#include "fleet/agent_stream_error.h"

#include <cerrno>
#include <string>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(AgentStreamError, EndsWithAdviceOnTls) {
  struct Case {
    ConnectFault fault;
    std::string advice;
  };
  for (const Case& test : {
           Case{{.handshake = HandshakeFault::kNoTls},
                ": give --tls-cert to the agents and to the aggregators, or to neither"},
           Case{{.handshake = HandshakeFault::kWrongName},
                ": its certificate must be for the host in --agents"},
           Case{{.handshake = HandshakeFault::kUntrusted},
                ": its certificate must be of the CA in --tls-client-ca"},
           Case{{.handshake = HandshakeFault::kRejectedByPeer}, ": the agent's log has the reason"},
           Case{{.handshake = HandshakeFault::kOther}, ""},
           Case{{.is_other_protocol = true}, ": does the agent need TLS (--tls-cert)?"},
           Case{{.system_error = ECONNREFUSED}, ""},
       }) {
    EXPECT_EQ(
        AgentStreamError({.status = absl::UnavailableError("why"), .connect_fault = test.fault}),
        absl::UnavailableError("why" + test.advice));
  }
}

TEST(AgentStreamError, LostConnectionHasNoAdvice) {
  EXPECT_EQ(AgentStreamError({.status = absl::UnavailableError("the connection is lost")}),
            absl::UnavailableError("the connection is lost"));
}

TEST(AgentStreamError, ServerWithoutTheServiceIsNotAnAgent) {
  EXPECT_EQ(AgentStreamError({.status = absl::UnimplementedError("")}),
            absl::UnimplementedError("it answers, and is no agent (a scaler's port?)"));
}

TEST(AgentStreamError, OkEndOfTheStreamIsAnError) {
  EXPECT_EQ(AgentStreamError({.status = absl::OkStatus()}),
            absl::UnavailableError("the agent has ended the stream"));
}

}  // namespace
}  // namespace gpuscaler
