// Access to the signals of engines, metrics endpoints and queues, for decisions.
#pragma once

#include "page/endpoint_rules.h"
#include "signal/signal_store.h"

namespace gpuscaler {

struct SignalAccess {
  SignalStore* store = nullptr;  // null: none are read; must outlive the users of this struct
  EndpointRules rules{AllowedEndpoints()};
  bool finds_engines = false;  // true if engines are discovered without an engineEndpoint
};

}  // namespace gpuscaler
