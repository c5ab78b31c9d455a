// gRPC's and protobuf's own logs as lines of ours.
#pragma once

namespace gpuscaler {

// From now on, for the whole process; a second call changes nothing. A client that fails
// its handshake or sends rubbish makes them write a line: ten in ten seconds are let through (of
// handshakes fewer, refused_handshakes.h), the rest is counted.
void TakeOverGrpcLog();

}  // namespace gpuscaler
