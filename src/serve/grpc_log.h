// gRPC's own log as lines of ours.
#pragma once

namespace gpuscaler {

// From now on, for the whole process; a second call changes nothing. Clients that fail their
// handshake make gRPC write a line each: ten in ten seconds are let through, the rest is counted.
void TakeOverGrpcLog();

}  // namespace gpuscaler
