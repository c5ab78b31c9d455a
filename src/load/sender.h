// Who sends requests and says what became of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

struct Answered {
  int64_t id;
  std::string error;  // its kind, such as "timeout" or "HTTP 503"; empty: none
};

// One request is like the other. Not thread-safe.
class Sender {
 public:
  virtual ~Sender() = default;

  virtual void Send(int64_t id) = 0;

  // What has been answered or has failed since, each request once; waits `timeout` for the first.
  virtual std::vector<Answered> Wait(absl::Duration timeout) = 0;
};

}  // namespace gpuscaler
