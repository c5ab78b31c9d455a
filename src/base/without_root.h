// What a test does without root's powers.
#pragma once

#include <unistd.h>

#include "gtest/gtest.h"

namespace gpuscaler {

// All threads of the process are nobody's, from construction to destruction; those of somebody who
// is not root stay theirs.
class WithoutRoot {
 public:
  WithoutRoot() : is_root_(geteuid() == 0) {
    if (is_root_) {
      EXPECT_EQ(seteuid(kNobody), 0);
    }
  }
  ~WithoutRoot() {
    if (is_root_) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }
  WithoutRoot(const WithoutRoot&) = delete;
  WithoutRoot& operator=(const WithoutRoot&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  const bool is_root_;
};

}  // namespace gpuscaler
