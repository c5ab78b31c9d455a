#include "fleet/watch_stream.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "fleet/gpu_wire.h"
#include "fleet/test_readings.h"
#include "gtest/gtest.h"
#include "telemetry.pb.h"
#include "wire/test_call.h"
#include "wire/wire_server.h"

namespace gpuscaler {
namespace {

using telemetry::v1::Subscription;
using telemetry::v1::Telemetry;

// A clock with a new reading right after each call of Now().
class ClockBeforeAReading : public Clock {
 public:
  explicit ClockBeforeAReading(TelemetryLog& log) : log_(log) { Read(); }

  absl::Time Now() const override {
    const absl::Time now = now_;
    Read();
    return now;
  }

 private:
  void Read() const {
    now_ += absl::Seconds(1);
    NodeSnapshot snapshot = SnapshotOf(1, now_);
    snapshot.gpus[0].power_watts = absl::ToDoubleSeconds(now_ - absl::UnixEpoch());
    log_.Add(snapshot);
  }

  TelemetryLog& log_;
  mutable absl::Time now_ = absl::FromUnixSeconds(1'767'225'600);
};

TEST(WatchStream, NoReadingIsLaterThanItsMessage) {
  TelemetryLog log(absl::Minutes(2), {});
  const ClockBeforeAReading clock(log);
  ReaderContext context{.clock = clock, .heartbeat = absl::Seconds(2)};
  const auto server =
      WireServer::Start({.bind_address = "127.0.0.1"},
                        {{"/gpuscaler.telemetry.v1.NodeTelemetry/Watch",
                          [&](const std::shared_ptr<ServerCall>& call) {
                            return std::make_shared<WatchStream>(
                                context, call, [](const auto*) {}, log,
                                [&](const std::set<std::string>& namespaces, const WatchStream&) {
                                  return log.LogOf(namespaces, true);
                                },
                                [](const Subscription&, const WatchStream&) {});
                          }}});
  ASSERT_TRUE(server.ok()) << server.status();
  {
    EventLoop loop;
    Channel channel(loop, {.address = absl::StrCat("127.0.0.1:", (*server)->port())});
    TestCall<Subscription, Telemetry> watch(channel, "/gpuscaler.telemetry.v1.NodeTelemetry/Watch");
    watch.Write({});
    const std::vector<Telemetry> messages = watch.WaitForMessages(3);
    ASSERT_GE(messages.size(), 3u);
    for (const Telemetry& message : messages) {
      ASSERT_GE(message.readings_size(), 1);
      EXPECT_LE(message.readings().rbegin()->taken_us(), message.sent_us());
    }
  }
}

}  // namespace
}  // namespace gpuscaler
