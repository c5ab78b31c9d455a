// How many files and sockets the process may hold.
#pragma once

namespace gpuscaler {

// To the most that the process may set itself: the usual 1024, which select(2) alone needs, is less
// than the connections that we hold. Logs a warning where that fails, and stays as it was.
void RaiseOpenFilesLimit();

}  // namespace gpuscaler
