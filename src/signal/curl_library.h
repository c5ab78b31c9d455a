// libcurl, loaded when it is first needed: with all that it needs itself it takes 1.8 MiB of RSS
// and 2 ms of every start, and an agent that reads no engine needs none of it.
//
// Who calls libcurl includes <curl/curl.h> as ever: its functions are defined here, those that we
// use, and hand on to the library.
#pragma once

#include "absl/status/status.h"

namespace gpuscaler {

// UNAVAILABLE: libcurl.so.4 cannot be loaded, and why. Its functions then return null or an error.
// Thread-safe.
absl::Status LoadCurl();

}  // namespace gpuscaler
