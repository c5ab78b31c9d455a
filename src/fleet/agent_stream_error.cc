#include "fleet/agent_stream_error.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "wire/refused_handshakes.h"

namespace gpuscaler {
namespace {

// Empty: no advice.
absl::string_view AdviceFor(const ConnectFault& fault) {
  if (fault.is_other_protocol) return "does the agent need TLS (--tls-cert)?";
  if (!fault.handshake) return "";
  switch (*fault.handshake) {
    case HandshakeFault::kNoTls:
      return "give --tls-cert to the agents and to the aggregators, or to neither";
    case HandshakeFault::kWrongName:
      return "its certificate must be for the host in --agents";
    case HandshakeFault::kUntrusted:
      return "its certificate must be of the CA in --tls-client-ca";
    case HandshakeFault::kRejectedByPeer:
      return "the agent's log has the reason";
    case HandshakeFault::kNoCertificate:  // only servers find it
    case HandshakeFault::kWrongNode:      // AgentCall finds it after the handshake
    case HandshakeFault::kOther:          // the message has the details
      break;
  }
  return "";
}

}  // namespace

absl::Status AgentStreamError(const CallEnd& end) {
  if (end.status.ok()) return absl::UnavailableError("the agent has ended the stream");
  if (absl::IsUnimplemented(end.status)) {
    return absl::UnimplementedError("it answers, and is no agent (a scaler's port?)");
  }
  const absl::string_view advice = end.connect_fault ? AdviceFor(*end.connect_fault) : "";
  if (advice.empty()) return end.status;
  return {end.status.code(), absl::StrCat(end.status.message(), ": ", advice)};
}

}  // namespace gpuscaler
