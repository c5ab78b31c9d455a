// What an inference engine said, as a message and back.
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

// Of the engine that bears this number.
telemetry::v1::EngineReading EncodeEngine(uint32_t id, const EngineUpdate& update);

void DropHistograms(telemetry::v1::EngineReading& reading);

// What no engine can say becomes NaN, and a histogram that is none empty (EngineReading). The news
// point into the message.
EngineUpdate DecodeEngine(const telemetry::v1::EngineReading& reading, const WriterClock& clock);

// An engine that left. It must have an owner, a batch and a demand.
void EncodeLeft(const SignalSeries& record, telemetry::v1::LeftEngine& message);

// Null: no engine can have shown this.
std::shared_ptr<const SignalSeries> DecodeLeft(const telemetry::v1::LeftEngine& message,
                                               const WriterClock& clock);

telemetry::v1::EngineSubscription EncodeSubscription(const EngineSubscription& wanted,
                                                     absl::Duration lease);
EngineSubscription DecodeSubscription(const telemetry::v1::EngineSubscription& wanted);

}  // namespace gpuscaler
