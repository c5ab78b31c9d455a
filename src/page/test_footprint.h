// What this process holds, for tests that nothing piles up.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace gpuscaler {

inline int FilesHeld() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<int>(std::distance(begin(files), end(files)));
}

// Of malloc's; with a sanitizer, which has its own and finds leaks itself, 0.
inline size_t MemoryHeld() {
  const struct mallinfo2 memory = mallinfo2();
  return memory.uordblks + memory.hblkhd;
}

}  // namespace gpuscaler
