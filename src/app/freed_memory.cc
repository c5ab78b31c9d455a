#include "app/freed_memory.h"

#include <malloc.h>

#include <algorithm>
#include <utility>

namespace gpuscaler {
namespace {

constexpr int kWorthIt = 100;  // streams: below, it is a megabyte or two
constexpr size_t kWorthItBytes = size_t{32} << 20;

}  // namespace

size_t FreeHeapBytes() { return mallinfo2().fordblks; }

FreedMemory::FreedMemory(std::function<size_t()> free_bytes) : free_bytes_(std::move(free_bytes)) {}

bool FreedMemory::Tick(int streams_open) {
  most_ = std::max(most_, streams_open);
  const int gone = most_ - streams_open;
  const bool have_gone = gone >= kWorthIt && gone >= streams_open;
  const size_t free = free_bytes_();
  left_free_ = std::min(left_free_, free);
  if (!have_gone && free - left_free_ < kWorthItBytes) return false;
  malloc_trim(0);
  most_ = streams_open;
  left_free_ = free;  // it is so still, but the system's
  return true;
}

}  // namespace gpuscaler
