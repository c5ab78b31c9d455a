// Protobuf's own log in lines of ours.
#pragma once

namespace gpuscaler {

// Takes effect for the whole process, once. A client that sends bytes that are no message makes
// protobuf log: ten lines in ten seconds are written, the rest is counted.
void TakeOverProtobufLog();

}  // namespace gpuscaler
