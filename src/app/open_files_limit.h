// The limit of open files and sockets of the process.
#pragma once

namespace gpuscaler {

// Raises the limit to the hard limit. The usual 1024, which only select(2) requires, is less than
// the connections of a scaler. On failure logs a warning and keeps the limit.
void RaiseOpenFilesLimit();

}  // namespace gpuscaler
