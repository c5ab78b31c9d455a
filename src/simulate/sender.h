// The interface that sends requests and returns their results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace gpuscaler {

struct Answered {
  int64_t id;
  std::string error;  // kind such as "timeout" or "HTTP 503"; empty: none
};

// All requests are alike. Not thread-safe.
class Sender {
 public:
  virtual ~Sender() = default;

  virtual void Send(int64_t id) = 0;

  // Blocks up to `timeout` for the first result. Returns each request answered or failed since the
  // last call, once.
  virtual std::vector<Answered> Wait(absl::Duration timeout) = 0;
};

}  // namespace gpuscaler
