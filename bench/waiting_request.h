// A waiting request, in each of the sources that a scaler can read.
#pragma once

#include <memory>

#include "edge_timing.h"

namespace gpuscaler {

// A request at a simulated engine on loopback with a batch of one. That place is taken from the
// start, so each further request waits from when it is sent.
std::unique_ptr<EdgeSource> RequestAtEngine(int port);

// An unread job in a Redis stream on loopback. It waits from when it is sent.
std::unique_ptr<EdgeSource> JobInRedis(int port);

// A request in a gateway of this process, which exports the number of waiting requests.
std::unique_ptr<EdgeSource> RequestAtGateway();

}  // namespace gpuscaler
