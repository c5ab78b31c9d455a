// The tables of `top`, from the web API's documents.
#pragma once

#include <string>

#include "app/text_table.h"
#include "app/web_document.h"

namespace gpuscaler {

// A row a trigger, of /api/v1/workloads. The name has the trigger if a ScaledObject has several.
// The key of a row is its ExplanationPath().
TextTable WorkloadTable(const WebDocument& workloads, const TextStyle& style);

// Returns "NAMESPACE/NAME/explanation?trigger=T", below /api/v1/workloads and percent-encoded.
std::string ExplanationPath(const WebDocument& row);

// Returns how many rows have trouble or an error.
size_t TroubledRows(const WebDocument& workloads);

// A row a node, of /api/v1/fleet. The key of a row is the node's name.
TextTable NodeTable(const WebDocument& fleet, const TextStyle& style);

// Returns "40 GPUs: 20 busy; 4 held, at 0; 2 starting; 13 free; 1 unreadable".
std::string FleetSummary(const WebDocument& fleet);

// A row a GPU, of /api/v1/fleet/NODE.
TextTable GpuTable(const WebDocument& node, const TextStyle& style);

}  // namespace gpuscaler
