// Suspends one thread of another process, as if its system call never returned.
#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/status.h"

namespace gpuscaler {

// Suspends the thread from construction to destruction, which must happen on one thread. The
// process must be a child of the caller and outlive this object.
class HeldThread {
 public:
  HeldThread(pid_t process, const std::string& name);  // name as `top -H` shows it
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
