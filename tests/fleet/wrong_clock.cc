// An LD_PRELOAD library: shifts the program's wall clock by the number of seconds in the file
// $WRONG_CLOCK, eight bytes that may change at any time. The monotonic clock stays right.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

std::atomic<const volatile int64_t*> error_seconds = nullptr;

// Sanitizers read the time before they have intercepted libc, so only system calls work here.
const volatile int64_t* OpenError() {
  const char* const path = std::getenv("WRONG_CLOCK");
  const auto file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  const auto seen =
      syscall(SYS_mmap, nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, file, off_t{0});
  if (seen < 0) __builtin_trap();
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel returns it as a number
  return reinterpret_cast<const volatile int64_t*>(seen);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are libc's
extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  const bool of_the_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (result != 0 || !of_the_wall) return result;
  if (error_seconds == nullptr) error_seconds = OpenError();
  time->tv_sec += *error_seconds.load();
  return result;
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now = {};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return result;
}

time_t time(time_t* seconds) noexcept {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds != nullptr) *seconds = now.tv_sec;
  return now.tv_sec;
}
}
// NOLINTEND(readability-identifier-naming)
