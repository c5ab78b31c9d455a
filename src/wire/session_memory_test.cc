#include "wire/session_memory.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

// Eight pages, because a page of some Arm kernels has 64 KiB.
const auto kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));
const size_t kSize = 8 * kPage;

// Returns how many whole pages of these bytes are in memory.
size_t ResidentPages(void* bytes, size_t size) {
  if (std::align(kPage, kPage, bytes, size) == nullptr) return 0;
  std::vector<unsigned char> resident(size / kPage);
  EXPECT_EQ(mincore(bytes, size / kPage * kPage, resident.data()), 0);
  return static_cast<size_t>(
      std::ranges::count_if(resident, [](unsigned char flags) { return (flags & 1) != 0; }));
}

TEST(SessionMemory, NewFrameBufferTakesNoMemory) {
  nghttp2_mem& memory = *SessionMemory();
  void* const former = memory.realloc(nullptr, kSize, nullptr);
  std::memset(former, 1, kSize);
  EXPECT_GE(ResidentPages(former, kSize), 7u);
  memory.free(former, nullptr);
  void* const buffer = memory.realloc(nullptr, kSize, nullptr);
  EXPECT_EQ(ResidentPages(buffer, kSize), 0u) << "even if it is the former one's";
  memory.free(buffer, nullptr);
}

TEST(SessionMemory, GrownBufferKeepsItsBytes) {
  nghttp2_mem& memory = *SessionMemory();
  auto* const bytes = static_cast<char*>(memory.realloc(nullptr, kSize, nullptr));
  std::memset(bytes, 7, kSize);
  auto* const grown = static_cast<char*>(memory.realloc(bytes, 4 * kSize, nullptr));
  EXPECT_TRUE(std::all_of(grown, grown + kSize, [](char byte) { return byte == 7; }));
  memory.free(grown, nullptr);
}

// Otherwise SessionMemory() has no effect.
TEST(SessionMemory, SessionAllocatesItsFrameBufferByReallocOfNull) {
  int buffers = 0;
  nghttp2_mem counting = *SessionMemory();
  counting.mem_user_data = &buffers;
  counting.realloc = [](void* bytes, size_t size, void* count) {
    if (bytes == nullptr && size >= 16 << 10) ++*static_cast<int*>(count);
    return SessionMemory()->realloc(bytes, size, nullptr);
  };
  nghttp2_session_callbacks* callbacks = nullptr;
  ASSERT_EQ(nghttp2_session_callbacks_new(&callbacks), 0);
  nghttp2_session* session = nullptr;
  ASSERT_EQ(nghttp2_session_client_new3(&session, callbacks, nullptr, nullptr, &counting), 0);
  nghttp2_session_callbacks_del(callbacks);
  EXPECT_EQ(buffers, 1);
  nghttp2_session_del(session);
}

}  // namespace
}  // namespace gpuscaler
