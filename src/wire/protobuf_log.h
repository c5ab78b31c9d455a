// Protobuf's own log messages, as lines of the program's log.
#pragma once

namespace gpuscaler {

// Takes effect for the whole process. Protobuf logs whenever a client sends bytes that are no
// message, so ten lines in ten seconds are written, and the rest is counted.
void TakeOverProtobufLog();

}  // namespace gpuscaler
