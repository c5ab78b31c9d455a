// An agent that says what a test has it say, and the reader of its messages.
//
//   class TelemetryReaderTest : public TelemetryFixture {};
//   snapshot.gpus[1].utilization_percent = 1e300;
//   Send(snapshot).gpus[1]  // what the reader makes of it
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
                        [this](AgentUpdate update) { reported_.push_back(std::move(update)); });
  }

  // What is made of the next reading of this node.
  NodeSnapshot Send(NodeSnapshot snapshot) {
    now_ += absl::Seconds(1);
    snapshot.taken_at = now_;
    telemetry::v1::Telemetry message;
    message.set_sent_us(ToWire(now_));
    if (reported_.empty()) *message.mutable_node() = NodeOf(snapshot);
    if (auto reading = encoder_.Encode(snapshot)) *message.add_readings() = *std::move(reading);
    const absl::Status status = Read(message);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_THAT(reported_.back().readings, testing::SizeIs(1));
    return reported_.back().readings.back().snapshot;
  }

  absl::Time now_ = kNow;
  ReadingEncoder encoder_;
  TelemetryReader reader_;
  std::vector<AgentUpdate> reported_;
};

}  // namespace gpuscaler
