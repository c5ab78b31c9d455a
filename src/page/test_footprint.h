// Resources of this process, for tests of leaks.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace gpuscaler {

inline int OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<int>(std::distance(begin(files), end(files)));
}

// Returns the bytes allocated by malloc. 0 with a sanitizer, which finds leaks itself.
inline size_t AllocatedBytes() {
  const struct mallinfo2 memory = mallinfo2();
  return memory.uordblks + memory.hblkhd;
}

}  // namespace gpuscaler
