#include "app/freed_memory.h"

#include <malloc.h>

#include <algorithm>

namespace gpuscaler {
namespace {

constexpr int kWorthIt = 100;  // streams: below, it is a megabyte or two

}  // namespace

bool FreedMemory::Tick(int streams_open) {
  most_ = std::max(most_, streams_open);
  const int gone = most_ - streams_open;
  if (gone < kWorthIt || gone < streams_open) return false;
  malloc_trim(0);
  most_ = streams_open;
  return true;
}

}  // namespace gpuscaler
