#include "app/fleet_page.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "app/gpu_cells.h"
#include "app/gpus_page.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "base/printable_text.h"
#include "base/status_macros.h"
#include "fleet/gpu_wire.h"
#include "fleet/telemetry_wire.h"
#include "model/free_gpus.h"

namespace gpuscaler {
namespace {

using gpuscaler::v1::ViewedAgent;
using gpuscaler::v1::ViewedNode;

absl::StatusOr<FleetPage::Node> FleetNodeOf(const ViewedNode& viewed, absl::Duration offset) {
  ReadingDecoder decoder;
  decoder.SetNode(viewed.node());
  FleetPage::Node node{.age = absl::Seconds(viewed.age_seconds()),
                       .received_ago = absl::Seconds(viewed.heard_seconds_ago()),
                       .why_disconnected = viewed.silence(),
                       .left_out = viewed.left_out()};
  ASSIGN_OR_RETURN(node.snapshot, decoder.Decode(viewed.newest(), {.offset = offset}));
  return node;
}

std::string AgoText(absl::Duration age) {
  return age < absl::Milliseconds(1) ? "now" : absl::StrCat(AgeText(age), " ago");
}

std::vector<std::string> FleetCells(const FleetPage::Node& node, const GpuSample& gpu) {
  return {node.snapshot.node,
          AgoText(node.age),
          IsMig(gpu) ? absl::StrCat(gpu.index, " MIG") : absl::StrCat(gpu.index),
          OrDash(gpu.name),
          WholeText(gpu.utilization_percent),
          absl::StrCat(MibText(gpu.memory_used_bytes), "/", MibText(gpu.memory_total_bytes)),
          OrDash(HoldersText(node.snapshot, gpu)),
          gpu.uuid};
}

std::vector<std::string> GpuRows(const FleetPage& page) {
  std::vector<std::vector<std::string>> rows = {
      {"NODE", "READ", "GPU", "NAME", "UTIL %", "MEMORY MiB", "HELD BY", "UUID"}};
  for (const FleetPage::Node& node : page.nodes) {
    if (node.snapshot.gpus.empty()) {
      rows.push_back({node.snapshot.node, AgoText(node.age), "no GPU"});
    }
    for (const GpuSample& gpu : node.snapshot.gpus) rows.push_back(FleetCells(node, gpu));
  }
  return rows.size() == 1 ? std::vector<std::string>() : Aligned(rows);
}

// Returns "agent 10.0.0.7:6001: not connected yet: connection refused", or "" if it is connected
// and has no problem.
std::string AgentLine(const ViewedAgent& agent) {
  std::string what;
  if (agent.superseded()) {
    what = absl::StrCat("another agent reports node ", agent.node());
  } else if (!agent.connected()) {
    what =
        agent.has_heard_seconds_ago()
            ? absl::StrCat("disconnected for ", AgeText(absl::Seconds(agent.heard_seconds_ago())))
            : "not connected yet";
  } else if (!agent.why().empty()) {
    what = "does not read";
  } else if (!agent.listed()) {
    what = "is not listed any more";
  }
  if (what.empty()) return "";
  const std::string of_node = agent.node().empty() ? "" : absl::StrCat(" of node ", agent.node());
  return absl::StrCat("agent ", agent.address(), of_node, ": ", what,
                      agent.why().empty() ? "" : ": ", agent.why());
}

FreeGpus FreeGpusOf(const FleetPage& page) {
  FreeGpus free;
  for (const FleetPage::Node& node : page.nodes) {
    node.left_out.empty() ? free.Add(node.snapshot) : free.AddUnknown(node.snapshot);
  }
  return free;
}

// Returns the sizes of the pods with whole GPUs, and whether all pods of a size have linked ones.
std::map<int, bool> SizesOfPods(const FleetPage& page) {
  std::map<int, bool> sizes;
  for (const FleetPage::Node& node : page.nodes) {
    for (const WholeGpus& pod : WholeGpusOfPods(node.snapshot)) {
      const auto size = sizes.try_emplace(static_cast<int>(pod.uuids.size()), true).first;
      size->second = size->second && pod.are_linked;
    }
  }
  return sizes;
}

// Returns "8 free in 1+1+2+4: room for one replica of 4", or "" if it is unknown of all GPUs
// whether they are free. The replicas have the sizes of the present pods, or that of the largest
// group if there are none.
std::string FreeLine(const FleetPage& page) {
  const FreeGpus free = FreeGpusOf(page);
  if (free.groups.empty()) return "";
  std::map<int, bool> sizes = SizesOfPods(page);
  const int largest = LargestGroup(free);
  if (sizes.empty() && largest > 0) sizes.emplace(largest, true);
  std::vector<std::string> rooms;
  for (const auto& [gpus, linked] : sizes) {
    const int room = RoomFor({.pods = {gpus}, .linked = linked}, free);
    const std::string count = room == 0 ? "no" : room == 1 ? "one" : absl::StrCat(room);
    rooms.push_back(absl::StrCat(count, room > 1 ? " replicas of " : " replica of ", gpus));
  }
  const std::string text = FreeText(free, /*linked=*/true);
  const std::string room = CountFree(free) == 0 || rooms.empty()
                               ? ""
                               : absl::StrCat(": room for ", absl::StrJoin(rooms, ", or "));
  return absl::StrCat(text, room,
                      free.unknown == 0 ? "" : absl::StrCat("; unknown of ", free.unknown));
}

OrderedJson FreeJson(const FreeGpus& free) {
  OrderedJson json = {{"unknown", free.unknown}, {"groups", OrderedJson::array()}};
  for (const FreeGroup& group : free.groups) {
    json["groups"].push_back(
        {{"node", group.node}, {"link_group", TextJson(group.link_group)}, {"gpus", group.gpus}});
  }
  return json;
}

OrderedJson NodeJson(const FleetPage::Node& node) {
  const NodeSnapshot& snapshot = node.snapshot;
  OrderedJson json = {{"node", snapshot.node},
                      {"age_seconds", NumberJson(absl::ToDoubleSeconds(node.age))},
                      {"heard_seconds_ago", NumberJson(absl::ToDoubleSeconds(node.received_ago))},
                      {"silence", TextJson(node.why_disconnected)},
                      {"left_out", TextJson(node.left_out)},
                      {"source", TextJson(snapshot.source)},
                      {"driver_version", TextJson(snapshot.driver_version)},
                      {"holders_unknown", TextJson(snapshot.attribution.why)},
                      {"gpus", OrderedJson::array()}};
  for (const GpuSample& gpu : snapshot.gpus) json["gpus"].push_back(GpuJson(snapshot, gpu));
  return json;
}

OrderedJson AgentJson(const ViewedAgent& agent) {
  return {
      {"address", agent.address()},
      {"node", TextJson(agent.node())},
      {"version", TextJson(agent.version())},
      {"listed", agent.listed()},
      {"connected", agent.connected()},
      {"superseded", agent.superseded()},
      {"heard_seconds_ago", agent.has_heard_seconds_ago() ? NumberJson(agent.heard_seconds_ago())
                                                          : OrderedJson(nullptr)},
      {"why", TextJson(agent.why())}};
}

}  // namespace

absl::StatusOr<FleetPage> FleetPageOf(const std::string& address, gpuscaler::v1::FleetView view,
                                      absl::Time now) {
  FleetPage page{.address = address, .time = now};
  const absl::Duration offset = now - FromWire(view.now_us());
  for (const ViewedNode& viewed : view.nodes()) {
    ASSIGN_OR_RETURN(FleetPage::Node node, FleetNodeOf(viewed, offset));
    page.nodes.push_back(std::move(node));
  }
  page.view = std::move(view);
  return page;
}

std::string FleetTable(const FleetPage& page) {
  size_t gpus = 0;
  for (const FleetPage::Node& node : page.nodes) gpus += node.snapshot.gpus.size();
  std::vector<std::string> lines = {
      absl::StrCat(UtcText(page.time), " ", page.address, ": ",
                   CountText(static_cast<int64_t>(page.nodes.size()), "node"), ", ",
                   CountText(static_cast<int64_t>(gpus), "GPU"))};
  if (!page.view.namespaces().empty()) {
    lines.push_back(absl::StrCat("covers pods of these namespaces only (--namespaces): ",
                                 absl::StrJoin(page.view.namespaces(), ", ")));
  }
  for (std::string& row : GpuRows(page)) lines.push_back(std::move(row));
  if (std::string line = FreeLine(page); !line.empty()) lines.push_back(std::move(line));
  for (const FleetPage::Node& node : page.nodes) {
    if (!node.left_out.empty()) lines.push_back(absl::StrCat("left out: ", node.left_out));
  }
  for (const ViewedAgent& agent : page.view.agents()) {
    std::string line = AgentLine(agent);
    if (!line.empty()) lines.push_back(std::move(line));
  }
  if (!page.view.trouble().empty()) {
    lines.push_back(absl::StrCat("nothing is decided on: ", page.view.trouble()));
  }
  return EscapedLines(lines);
}

std::string FleetJson(const FleetPage& page) {
  OrderedJson json = {{"time", UtcText(page.time)},
                      {"scaler", page.address},
                      {"version", TextJson(page.view.version())},
                      {"trouble", TextJson(page.view.trouble())},
                      {"namespaces", page.view.namespaces()},
                      {"free", FreeJson(FreeGpusOf(page))},
                      {"nodes", OrderedJson::array()},
                      {"agents", OrderedJson::array()}};
  for (const FleetPage::Node& node : page.nodes) json["nodes"].push_back(NodeJson(node));
  for (const ViewedAgent& agent : page.view.agents()) json["agents"].push_back(AgentJson(agent));
  return JsonText(json, false);
}

}  // namespace gpuscaler
