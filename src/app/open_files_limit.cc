#include "app/open_files_limit.h"

#include <sys/resource.h>

#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace gpuscaler {

void RaiseOpenFilesLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  }
  LogWarn("open_files_limit_kept", {{"why", std::strerror(errno)}});
}

}  // namespace gpuscaler
