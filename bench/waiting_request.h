// A request that waits, in each of the places where a scaler can see one.
#pragma once

#include <memory>

#include "edge_timing.h"

namespace gpuscaler {

// At a simulated engine on loopback whose batch is one request: that one is there from the start,
// and the next one waits. It waits from the moment in which it is sent.
std::unique_ptr<EdgeSource> RequestAtEngine(int port);

// A job in a stream of a Redis on loopback that nobody has read. It waits from the moment in which
// it is sent.
std::unique_ptr<EdgeSource> JobInRedis(int port);

// In a gateway of this process, whose page says so.
std::unique_ptr<EdgeSource> RequestAtGateway();

}  // namespace gpuscaler
