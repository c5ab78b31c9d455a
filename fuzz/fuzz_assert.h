// Assertions that must hold for every input: a failed one ends the fuzzer with a crash.
#pragma once

#include <cstdio>
#include <cstdlib>

#define FUZZ_ASSERT(condition)                                                               \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      std::fprintf(stderr, "%s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
