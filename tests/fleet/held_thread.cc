#include "held_thread.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

// Returns 0 if no thread has that name.
pid_t ThreadOf(pid_t process, const std::string& name) {
  std::error_code gone;
  const std::string tasks = absl::StrCat("/proc/", process, "/task");
  for (const auto& task : std::filesystem::directory_iterator(tasks, gone)) {
    std::string its_name;
    std::getline(std::ifstream(task.path() / "comm"), its_name);
    if (its_name == name) return std::atoi(task.path().filename().c_str());
  }
  return 0;
}

}  // namespace

HeldThread::HeldThread(pid_t process, const std::string& name)
    : thread_(ThreadOf(process, name)),
      held_(thread_ == 0 ? absl::NotFoundError(absl::StrCat("no thread ", name)) : Hold()) {}

HeldThread::~HeldThread() {
  if (held_.ok()) ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
}

absl::Status HeldThread::Hold() {
  if (ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) != 0) {
    return absl::ErrnoToStatus(
        errno,
        "this test holds a thread of a child of its own by ptrace, which takes a machine that "
        "allows it (sysctl kernel.yama.ptrace_scope 0 or 1, no seccomp filter against ptrace)");
  }
  if (ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0 ||
      waitpid(thread_, nullptr, __WALL) != thread_) {
    return absl::ErrnoToStatus(errno, "PTRACE_INTERRUPT");
  }
  return absl::OkStatus();
}

}  // namespace gpuscaler
