// nghttp2's memory: sessions keep only the pages that they use.
#pragma once

#include <nghttp2/nghttp2.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace gpuscaler {

// Returns the allocator for nghttp2_session_client_new3() and nghttp2_session_server_new3().
// nghttp2 gives each session a buffer for the longest frame, 16 KiB, and most sessions send much
// shorter ones. If the allocator reuses pages for it that held something else, the unused part
// would stay in memory as well. So its pages are returned to the kernel first. nghttp2 1.52
// allocates it by realloc() of a null pointer (lib/nghttp2_buf.c).
inline nghttp2_mem* SessionMemory() {
  constexpr size_t kFrameBuffer = 16 << 10;
  static nghttp2_mem memory = {
      .mem_user_data = nullptr,
      .malloc = [](size_t size, void*) { return std::malloc(size); },
      .free = [](void* bytes, void*) { std::free(bytes); },
      .calloc = [](size_t count, size_t size, void*) { return std::calloc(count, size); },
      .realloc = [](void* bytes, size_t size, void*) -> void* {
        void* const resized = std::realloc(bytes, size);
        const bool is_frame_buffer = bytes == nullptr && size >= kFrameBuffer;
        if (!is_frame_buffer || resized == nullptr) return resized;
        const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        void* pages = resized;
        if (std::align(page, page, pages, size) != nullptr) {  // now `size` is what follows `pages`
          madvise(pages, size / page * page, MADV_DONTNEED);
        }
        return resized;
      }};
  return &memory;
}

}  // namespace gpuscaler
