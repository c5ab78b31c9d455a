// What engines, pages and queues say, for who decides.
#pragma once

#include "endpoint/endpoint_rules.h"
#include "signal/signal_store.h"

namespace gpuscaler {

struct SignalAccess {
  SignalStore* store = nullptr;  // null: nobody reads any; outlives who has it
  EndpointRules rules{AllowedEndpoints()};
  bool finds_engines = false;  // those that nobody named
};

}  // namespace gpuscaler
