// How many files and sockets the process may have open at once.
#pragma once

#include <cstddef>

namespace gpuscaler {

size_t MostOpenFiles();  // its soft limit, which may be raised later

}  // namespace gpuscaler
