// Calls to the kubelet on its unix sockets.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "wire/event_loop.h"

namespace gpuscaler {

// Returns what stands at the path in a socket's place: "a directory"; empty: a socket, nothing, or
// what may not be seen. If a socket is not there yet, a pod that mounts it creates a directory.
std::string InPlaceOfSocket(const std::string& path);

// Calls `method` ("/package.Service/Method") with a request that has no fields, and returns the
// bytes of the answer, `longest_answer` at most. Blocks for `timeout` at most, while `loop` does
// the work: a loop for each call would need descriptors, and ends the process without. Connects for
// each call: one every few seconds costs next to nothing, and a restart of the kubelet needs no
// care. Errors begin with the path. PERMISSION_DENIED, NOT_FOUND, UNAVAILABLE: no connection;
// DEADLINE_EXCEEDED; else the kubelet's own.
absl::StatusOr<std::string> CallKubelet(EventLoop& loop, const std::string& path,
                                        const std::string& method, size_t longest_answer,
                                        absl::Duration timeout);

}  // namespace gpuscaler
