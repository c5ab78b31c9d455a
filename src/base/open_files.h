// The limit on open files and sockets of this process.
#pragma once

#include <cstddef>

namespace gpuscaler {

size_t MostOpenFiles();  // the soft limit now, which the process may raise later

}  // namespace gpuscaler
