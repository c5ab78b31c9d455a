// Memory that streams and decisions held, given back to the system once they have gone.
#pragma once

#include <cstddef>
#include <functional>

namespace gpuscaler {

// Of what malloc has taken from the system, the bytes that nobody holds now.
size_t FreeHeapBytes();

// The C library keeps what is freed, for ever where something small still lies above it: after
// 10,000 streams the process would stay as large as they made it, and with 1,000 nodes one decision
// on all GPUs of them leaves 66 MiB behind. One thread's.
class FreedMemory {
 public:
  explicit FreedMemory(std::function<size_t()> free_bytes = FreeHeapBytes);

  // With the number of streams open now. True when memory was given back: once half of the streams
  // have gone, and a hundred at least, since the last time, or 32 MiB more are free than it left.
  // What is used again and again is thus kept.
  bool Tick(int streams_open);

 private:
  const std::function<size_t()> free_bytes_;
  int most_ = 0;
  size_t left_free_ = 0;  // the last time, or fewer since
};

}  // namespace gpuscaler
