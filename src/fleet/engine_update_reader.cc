#include "fleet/engine_update_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "fleet/engine_wire.h"

namespace gpuscaler {
namespace {

namespace wire = telemetry::v1;

EngineAddress EngineAddressOf(const wire::FoundEngine& engine) {
  return {.address = engine.address(),
          .port = static_cast<int>(engine.port()),
          .namespace_name = engine.namespace_name(),
          .pod = engine.pod()};
}

}  // namespace

EngineUpdateReader::EngineUpdateReader(std::string node, FoundEngines& found)
    : node_(std::move(node)), found_(found) {}

void EngineUpdateReader::Begin() {
  has_node_ = false;
  places_.clear();
  list_ = {};
}

absl::Status EngineUpdateReader::SetNode(const wire::Node& node) {
  if (node.name() != node_) {
    return absl::InvalidArgumentError(absl::StrCat("it reports engines of node ",
                                                   node.name().substr(0, 253),
                                                   ", and its GPUs are of node ", node_));
  }
  if (node.instance() != instance_) peer_clock_ = PeerClock();
  instance_ = node.instance();
  has_node_ = true;
  return absl::OkStatus();
}

void EngineUpdateReader::List(const wire::EngineList& list, bool more, absl::Time now) {
  if (!list.why().empty()) {
    found_.SetEngines(node_, absl::UnavailableError(list.why()), now);
    return;
  }
  list_ = {.past_readings_pending = more};
  for (const std::string& name : list.namespaces()) list_.namespaces[name];
  places_.clear();
  for (const wire::FoundEngine& engine : list.engines()) {
    const EngineAddress place = EngineAddressOf(engine);
    places_.insert_or_assign(engine.id(), place);
    list_.Add(place);
  }
  for (const wire::PodWithoutEngine& pod : list.without()) {
    list_.Add(MissingEngine{
        .node = node_, .namespace_name = pod.namespace_name(), .pod = pod.pod(), .why = pod.why()});
  }
  const WriterClock theirs{.offset = peer_clock_.offset(), .latest = now};
  for (const wire::LeftEngine& engine : list.left()) {
    if (const auto record = DecodeLeft(engine, theirs)) list_.Add(record);
  }
  found_.SetEngines(node_, list_, now);
}

absl::Status EngineUpdateReader::Read(wire::EngineTelemetry& message, absl::Time now) {
  if (!quota_.Take(now, static_cast<double>(CostOf(message)))) {
    return absl::InvalidArgumentError("it reports more engines than any agent has");
  }
  RETURN_IF_ERROR(BoundEngines(message));
  if (message.has_node()) RETURN_IF_ERROR(SetNode(message.node()));
  if (!has_node_) return absl::InvalidArgumentError("it reports engines before its node");
  peer_clock_.Received(FromWire(message.sent_us()), now);
  if (message.has_list()) List(message.list(), message.more(), now);
  const WriterClock theirs{.offset = peer_clock_.offset(), .latest = now};
  for (const wire::EngineReading& reading : message.readings()) {
    const auto place = places_.find(reading.id());
    if (place == places_.end()) continue;
    found_.AddReading(node_, place->second, DecodeEngine(reading, theirs));
  }
  if (list_.past_readings_pending && !message.more()) {
    list_.past_readings_pending = false;
    found_.SetEngines(node_, list_, now);
  }
  return absl::OkStatus();
}

}  // namespace gpuscaler
