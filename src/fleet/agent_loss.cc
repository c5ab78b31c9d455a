#include "fleet/agent_loss.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "rpc/refused_handshakes.h"

namespace gpuscaler {
namespace {

absl::Status With(const absl::Status& end, absl::string_view advice) {
  return {end.code(), absl::StrCat(end.message(), ": ", advice)};
}

}  // namespace

// The words are those of gRPC 1.51, and of OpenSSL for the first bytes of HTTP/2. An agent that
// wants TLS closes a connection without it.
absl::Status LossOf(const absl::Status& end, bool with_tls) {
  if (end.ok()) return absl::UnavailableError("the agent has ended the stream");
  if (absl::IsUnimplemented(end)) {
    return absl::UnimplementedError("it answers, and is no agent (a scaler's port?)");
  }
  const absl::string_view why = end.message();
  if (with_tls && absl::StrContains(why, "wrong version number")) {
    return With(end, "the agent speaks no TLS: give --tls-cert to both sides, or to neither");
  }
  if (HandshakeFaultOfCall(why) == HandshakeFault::kWrongName) {
    return With(end, "its certificate has to be for the host in --agents");
  }
  const bool is_closed =
      absl::StartsWith(why, "failed to connect") &&
      (absl::StrContains(why, "Socket closed") || absl::StrContains(why, "Connection reset"));
  if (!with_tls && is_closed) return With(end, "does the agent want TLS (--tls-cert)?");
  return end;
}

}  // namespace gpuscaler
