// An agent's port for telemetry, without a network.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_clock.h"
#include "fleet/telemetry_service.h"
#include "fleet/test_engines.h"
#include "fleet/test_readings.h"
#include "wire/event_loop.h"

namespace gpuscaler {

class AgentPort {
 public:
  AgentPort() { store_.Put(SnapshotOf(1, clock_.Now())); }
  ~AgentPort() {
    service_.StopStreams();
    store_.Close();
  }

  // Sends a message of a client, which has one call of each method. Returns false if the agent has
  // ended the call.
  template <typename Message>
  bool Send(const std::string& method, const std::string& peer, bool has_certificate,
            const Message& message) {
    const std::pair key(method, peer);
    Stream& stream = streams_[key];
    if (stream.call == nullptr) {
      CallHeaders headers = {.path = absl::StrCat("/gpuscaler.telemetry.v1.NodeTelemetry/", method),
                             .peer = peer,
                             .has_certificate = has_certificate};
      const StartCall& start = methods_.at(headers.path);
      stream.call = std::make_shared<ServerCall>(std::move(headers), Loop());
      stream.handler = start(stream.call);
    }
    stream.handler->OnMessage(message.SerializeAsString());
    stream.handler->OnWritten();
    if (!stream.call->is_finished()) return true;
    stream.handler->OnEnd();
    streams_.erase(key);
    return false;
  }

  void EndCalls() {
    for (const auto& [key, stream] : streams_) stream.handler->OnEnd();
    streams_.clear();
  }

  // Reads an engine.
  void Read() {
    clock_.Advance(absl::Seconds(1));
    engines_.List(TestEngines({TestPlace("llm-0")}));
    engines_.AddReading(TestPlace("llm-0"), TestUpdates(clock_.Now(), 1));
  }

  FakeClock& clock() { return clock_; }
  const Leases& leases() const { return leases_; }
  EngineLog& engines() { return engines_; }

  // Return the result since the last call.
  std::vector<Pod> TakeFormerPods() { return std::exchange(former_pods_, {}); }
  bool TakeIsMoreWanted() { return std::exchange(is_more_wanted_, false); }

 private:
  struct Stream {
    std::shared_ptr<ServerCall> call;
    std::shared_ptr<ServerCall::Handler> handler;
  };

  // The calls have no connection, so it does nothing.
  static EventLoop& Loop() {
    static EventLoop& loop = *new EventLoop();
    return loop;
  }

  FakeClock clock_;
  SnapshotStore store_{clock_, absl::Seconds(5), absl::Minutes(2)};
  Leases leases_;
  bool is_more_wanted_ = false;  // engines
  EngineLog engines_{clock_, [this] { is_more_wanted_ = true; }};
  std::vector<Pod> former_pods_;
  TelemetryService service_{{.horizon = absl::Minutes(2),
                             .engines = &engines_,
                             .former_pods = [this](auto pods) { former_pods_ = std::move(pods); }},
                            clock_,
                            store_,
                            leases_,
                            nullptr};
  const Methods methods_ = service_.methods();
  std::map<std::pair<std::string, std::string>, Stream> streams_;  // keys: method and peer
};

}  // namespace gpuscaler
