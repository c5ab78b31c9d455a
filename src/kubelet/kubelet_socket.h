// The kubelet's unix sockets: how they are reached, and what is told of one that is not.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

namespace gpuscaler {

// What stands at the path in a socket's place: "a directory"; empty: a socket, nothing, or what may
// not be seen. Where a pod mounts a socket that is not there yet, a directory is made.
std::string InPlaceOfSocket(const std::string& path);

// A connection for one call: with a call every few seconds it costs next to nothing, and a kubelet
// that was restarted in between is no case of its own. A reply may have `most_bytes`. The error
// names the path and what stands in the way: PERMISSION_DENIED, NOT_FOUND, UNAVAILABLE.
absl::StatusOr<std::shared_ptr<grpc::Channel>> ConnectToKubelet(const std::string& path,
                                                                int most_bytes);

void SetTimeout(absl::Duration timeout, grpc::ClientContext& context);

// Of a call that failed, with the path before the kubelet's words.
absl::Status KubeletError(const grpc::Status& status, const std::string& path,
                          absl::Duration timeout);

}  // namespace gpuscaler
