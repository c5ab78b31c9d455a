// The readings of an inference engine as messages, and back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "engine/engine_group.h"
#include "fleet/gpu_wire.h"
#include "model/signal_history.h"
#include "signal/engine_subscription.h"
#include "telemetry.pb.h"

namespace gpuscaler {

// `id` is the engine's id in this stream.
telemetry::v1::EngineReading EncodeEngine(uint32_t id, const EngineUpdate& update);

void DropHistograms(telemetry::v1::EngineReading& reading);

// Implausible numbers become NaN, and invalid histograms empty (EngineReading). The result points
// into the message.
EngineUpdate DecodeEngine(const telemetry::v1::EngineReading& reading, const WriterClock& clock);

// Encodes an engine that left. Requires pod_with_owners, batch and demand.
void EncodeLeft(const SignalSeries& record, telemetry::v1::LeftEngine& message);

// Returns null if the record is implausible.
std::shared_ptr<const SignalSeries> DecodeLeft(const telemetry::v1::LeftEngine& message,
                                               const WriterClock& clock);

telemetry::v1::EngineSubscription EncodeSubscription(const EngineSubscription& wanted,
                                                     absl::Duration lease);
EngineSubscription DecodeSubscription(const telemetry::v1::EngineSubscription& wanted);

}  // namespace gpuscaler
