// An agent with readings that a test sets, and the reader of its messages.
//
//   class TelemetryReaderTest : public TelemetryFixture {};
//   snapshot.gpus[1].utilization_percent = 1e300;
//   Send(snapshot).gpus[1]  // as the reader delivers it
#pragma once

#include <utility>
#include <vector>

#include "fleet/telemetry_reader.h"
#include "fleet/test_readings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {

class TelemetryFixture : public testing::Test {
 protected:
  static inline const absl::Time kNow = absl::FromUnixSeconds(1'767'225'600);
  static constexpr absl::Duration kStale = absl::Seconds(6);

  static telemetry::v1::Telemetry MessageOf(const NodeSnapshot& snapshot) {
    telemetry::v1::Telemetry message;
    *message.mutable_node() = NodeOf(snapshot);
    message.mutable_node()->set_instance(1);
    *message.add_readings() = WholeReading(snapshot);
    message.set_sent_us(ToWire(snapshot.taken_at));
    return message;
  }

  absl::Status Read(telemetry::v1::Telemetry message) {
    return reader_.Read(std::move(message), now_,
                        [this](AgentUpdate update) { updates_.push_back(std::move(update)); });
  }

  // Returns the next reading of this node as the reader delivers it.
  NodeSnapshot Send(NodeSnapshot snapshot) {
    now_ += absl::Seconds(1);
    snapshot.taken_at = now_;
    telemetry::v1::Telemetry message;
    message.set_sent_us(ToWire(now_));
    if (updates_.empty()) *message.mutable_node() = NodeOf(snapshot);
    if (auto reading = encoder_.Encode(snapshot)) *message.add_readings() = *std::move(reading);
    const absl::Status status = Read(message);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_THAT(updates_.back().readings, testing::SizeIs(1));
    return updates_.back().readings.back().snapshot;
  }

  absl::Time now_ = kNow;
  ReadingEncoder encoder_;
  TelemetryReader reader_;
  std::vector<AgentUpdate> updates_;
};

}  // namespace gpuscaler
