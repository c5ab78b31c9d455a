#include "base/open_files.h"

#include <sys/resource.h>

namespace gpuscaler {

size_t MostOpenFiles() {
  constexpr size_t kUsual = 1024;
  rlimit limit = {};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : kUsual;
}

}  // namespace gpuscaler
