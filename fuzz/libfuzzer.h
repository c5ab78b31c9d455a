// Functions of libFuzzer, which has no header for them.
#pragma once

#include <cstddef>
#include <cstdint>

// Mutates the bytes in place, as libFuzzer does without a custom mutator. Returns their new number,
// `max_size` at most.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);
