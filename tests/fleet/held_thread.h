// One thread of another process that does not move, as if what it asked for never came.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"

namespace gpuscaler {

// Holds it from construction to destruction. The process is a child of ours, and outlives this;
// both happen on one thread of ours.
class HeldThread {
 public:
  HeldThread(pid_t process, const std::string& name);  // its name, as `top -H` shows it
  ~HeldThread();
  HeldThread(const HeldThread&) = delete;
  HeldThread& operator=(const HeldThread&) = delete;

  const absl::Status& held() const { return held_; }

 private:
  absl::Status Hold();

  const pid_t thread_;
  absl::Status held_;
};

}  // namespace gpuscaler
