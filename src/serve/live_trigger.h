// A trigger that clients request at present. The history and the web pages list all of them.
#pragma once

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "serve/trigger_cache.h"

namespace gpuscaler {

// A trigger with a live lease (TriggerEntry::LeaseFrom): its newest request is not long ago.
struct LiveTrigger {
  std::string namespace_name;
  std::string scaled_object;
  // The name of its metric. Triggers with the default name have that of their metricType, so that
  // two of one ScaledObject differ.
  std::string name;
  absl::Time requested_at;  // newest request
  std::shared_ptr<TriggerEntry> entry;
  std::shared_ptr<const ParsedTrigger> parsed;  // its trigger may be an error
};

}  // namespace gpuscaler
