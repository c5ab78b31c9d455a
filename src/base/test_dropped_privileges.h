// Drops root's privileges for a part of a test.
#pragma once

#include <unistd.h>

#include "gtest/gtest.h"

namespace gpuscaler {

// Runs all threads of the process as user 65534 from construction to destruction. Does nothing if
// the process does not run as root.
class DroppedPrivileges {
 public:
  DroppedPrivileges() : is_root_(geteuid() == 0) {
    if (is_root_) {
      EXPECT_EQ(seteuid(kUnprivileged), 0);
    }
  }
  ~DroppedPrivileges() {
    if (is_root_) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }
  DroppedPrivileges(const DroppedPrivileges&) = delete;
  DroppedPrivileges& operator=(const DroppedPrivileges&) = delete;

 private:
  static constexpr uid_t kUnprivileged = 65534;
  const bool is_root_;
};

}  // namespace gpuscaler
