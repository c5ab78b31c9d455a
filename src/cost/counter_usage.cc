#include "cost/counter_usage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {
namespace {

constexpr double kMicrosInSecond = 1e6;

int64_t MicrosOfSeconds(double seconds) { return std::llround(seconds * kMicrosInSecond); }

// Prometheus prefixes a label that the scrape target has too, unless honor_labels is set.
std::string CounterLabel(const RangeSeries& series, absl::string_view name) {
  for (const std::string& label : {absl::StrCat("exported_", name), std::string(name)}) {
    const auto found = series.labels.find(label);
    if (found != series.labels.end()) return found->second;
  }
  return "";
}

std::optional<GpuState> StateNamed(absl::string_view name) {
  for (const GpuState state : kAllGpuStates) {
    if (Name(state) == name) return state;
  }
  return std::nullopt;
}

// Without a workload the namespace is that of the agent.
UsageKey KeyOf(const RangeSeries& series) {
  UsageKey key{.namespace_name = CounterLabel(series, "namespace"),
               .workload = CounterLabel(series, "workload"),
               .gpu_model = CounterLabel(series, "gpu_model"),
               .node = CounterLabel(series, "node")};
  if (key.workload.empty()) key.namespace_name.clear();
  if (key.node.empty()) key.node = CounterLabel(series, "instance");
  return key;
}

std::string AgentNameOf(const RangeSeries& series) {
  constexpr std::array<absl::string_view, 6> kCounterLabels = {
      "__name__", "workload", "gpu_model", "node", "state", "exported_workload"};
  const bool is_exported = series.labels.contains("exported_namespace");
  std::string name;
  for (const auto& [label, value] : series.labels) {
    if (std::ranges::find(kCounterLabels, label) != kCounterLabels.end()) continue;
    if (label == "exported_namespace" || (label == "namespace" && !is_exported)) continue;
    if (label == "exported_node" || label == "exported_gpu_model") continue;
    absl::StrAppend(&name, label, "=", value, ",");
  }
  return name;
}

bool IsHeld(GpuState state) {
  return state == GpuState::kBusy || state == GpuState::kIdle || state == GpuState::kStarting;
}

}  // namespace

struct CounterUsage::Column {
  size_t id = 0;
  std::string node;
  std::string agent;
  std::span<const RangePoint> points;
};

double CounterUsage::Agent::Sum() const {
  double sum = 0;
  for (const Counter& counter : counters) sum += counter.seconds;
  return sum;
}

size_t CounterUsage::IdOf(CounterId counter) {
  const auto [found, is_new] = id_of_.try_emplace(std::move(counter), ids_.size());
  if (is_new) ids_.push_back(found->first);
  return found->second;
}

// Sorts by node, agent and id.
absl::StatusOr<std::vector<CounterUsage::Column>> CounterUsage::ColumnsOf(
    std::span<const RangeSeries> series) {
  std::vector<Column> columns;
  for (const RangeSeries& each : series) {
    const std::string state_name = CounterLabel(each, "state");
    const std::optional<GpuState> state = StateNamed(state_name);
    UsageKey key = KeyOf(each);
    if (!state || key.node.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("a counter has the state \"", state_name,
                                                     "\" and the node \"", key.node,
                                                     "\": it is not from an agent of this scaler"));
    }
    std::string node = key.node;
    columns.push_back({.id = IdOf({.key = std::move(key), .state = *state}),
                       .node = std::move(node),
                       .agent = AgentNameOf(each),
                       .points = each.points});
  }
  std::ranges::sort(columns, [](const Column& a, const Column& b) {
    return std::tie(a.node, a.agent, a.id) < std::tie(b.node, b.agent, b.id);
  });
  return columns;
}

absl::Status CounterUsage::Add(int64_t steps, std::span<const RangeSeries> series) {
  absl::StatusOr<std::vector<Column>> columns = ColumnsOf(series);
  if (!columns.ok()) return columns.status();
  for (int64_t i = 0; i < steps; ++i, ++next_step_) {
    const absl::Time at = from_ + next_step_ * step_;
    std::vector<std::pair<std::string, std::vector<Agent>>> nodes;
    for (Column& column : *columns) {
      while (!column.points.empty() && column.points.front().at < at) {
        column.points = column.points.subspan(1);
      }
      if (column.points.empty() || column.points.front().at > at) continue;
      if (nodes.empty() || nodes.back().first != column.node)
        nodes.emplace_back(column.node, std::vector<Agent>());
      std::vector<Agent>& agents = nodes.back().second;
      if (agents.empty() || agents.back().name != column.agent) {
        agents.push_back({.name = column.agent, .counters = {}});
      }
      agents.back().counters.push_back({.id = column.id, .seconds = column.points.front().value});
    }
    for (auto& [name, agents] : nodes) AddToNode(next_step_, name, std::move(agents));
    if (!nodes.empty()) ++fleet_steps_;
    EndStep();
  }
  return absl::OkStatus();
}

// The agent that counted before goes on while it reports and its counters grow.
void CounterUsage::AddToNode(int64_t step, const std::string& name, std::vector<Agent> agents) {
  const auto [found, is_new] = nodes_.try_emplace(name);
  Node& node = found->second;
  const auto same = std::ranges::find(agents, node.agent.name, &Agent::name);
  const bool goes_on =
      !is_new && same != agents.end() && (agents.size() == 1 || same->Sum() > node.agent.Sum());
  auto next = same;
  if (!goes_on) {
    next = agents.begin();
    if (!is_new && agents.size() > 1 && next == same) ++next;
  }
  if (!is_new) {
    AddGrowth(step, name, node, *next);
  } else if (step > 0) {
    node.joined = *next;
    node.joined_step = step;
  }
  node.agent = std::move(*next);
  node.step = step;
  node.fleet_steps = fleet_steps_ + 1;  // with this step
}

void CounterUsage::AddGrowth(int64_t step, const std::string& name, Node& node, const Agent& next) {
  const bool is_same_agent = node.agent.name == next.name;
  bool began_anew = !is_same_agent;
  std::vector<std::pair<Counter, double>> counters;  // with the value before
  auto before = node.agent.counters.begin();
  for (const Counter& counter : next.counters) {
    while (before != node.agent.counters.end() && before->id < counter.id) ++before;
    const bool was_there = before != node.agent.counters.end() && before->id == counter.id;
    const double value_before = was_there && is_same_agent ? before->seconds : 0;
    began_anew = began_anew || counter.seconds < value_before;
    counters.emplace_back(counter, value_before);
  }
  const int64_t steps = step - node.step;
  // Returns the growth if all counters began at 0, or only those that fell.
  const auto growth_since = [&counters](bool all_began_anew) {
    std::vector<Growth> growth;
    for (const auto& [counter, value_before] : counters) {
      const bool is_new = all_began_anew || counter.seconds < value_before;
      const int64_t from = is_new ? 0 : MicrosOfSeconds(value_before);
      growth.push_back({.id = counter.id, .micros = MicrosOfSeconds(counter.seconds) - from});
    }
    return growth;
  };
  std::vector<Growth> growth = growth_since(began_anew);
  // Prometheus repeats the last point from before a restart for a counter that the new process does
  // not have yet. A single counter also begins anew if its workload was away for a day.
  if (began_anew && !Fits(growth, steps, node)) growth = growth_since(false);
  if (began_anew || steps > 1) {
    const bool was_removed = WasRemoved(node);
    const bool fits = Fits(growth, steps, node);
    if (fits) Book(growth);
    if (!was_removed) AddMissing(fits ? growth : std::vector<Growth>(), steps, node);
    if (was_removed) node.missing.clear();
    node.has_restart = !was_removed;
    return;
  }
  Book(growth);
  if (auto gpus = WholeGpusOf(growth, node)) {
    BookMissing(name, node);
    node.gpus = *std::move(gpus);
    BookJoined(name, node);
  } else {
    AddMissing(growth, steps, node);
  }
  for (const Growth& each : growth) {
    if (!IsHeld(ids_[each.id].state)) continue;
    UsageKey workload = ids_[each.id].key;
    workload.node.clear();
    held_in_step_[workload] += each.micros;
  }
}

std::optional<std::map<std::string, int64_t>> CounterUsage::WholeGpusOf(
    const std::vector<Growth>& growth, const Node& node) const {
  constexpr double kTolerance = 0.02;  // scrapes are not at equal times
  std::map<std::string, int64_t> gpus;
  int64_t all_gpus = 0;
  for (const auto& [model, micros] : ByModel(growth)) {
    const double exact = static_cast<double>(micros) / static_cast<double>(MicrosOf(1));
    const auto whole = std::llround(exact);
    if (std::abs(exact - static_cast<double>(whole)) > kTolerance * std::max(1.0, exact)) {
      return std::nullopt;
    }
    gpus[model] = whole;
    all_gpus += whole;
  }
  // An agent that runs counts. The last point of one that ended is repeated for some minutes.
  if (all_gpus == 0 && !node.gpus.empty()) return std::nullopt;
  return gpus;
}

void CounterUsage::AddMissing(const std::vector<Growth>& growth, int64_t steps, Node& node) const {
  const std::map<std::string, int64_t> counted = ByModel(growth);
  for (const auto& [model, gpus] : node.gpus) {
    const auto found = counted.find(model);
    node.missing[model] += gpus * MicrosOf(steps) - (found == counted.end() ? 0 : found->second);
  }
}

void CounterUsage::BookMissing(const std::string& name, Node& node) {
  if (node.has_restart) {
    for (const auto& [model, micros] : node.missing) BookUnknown(name, model, micros);
  }
  node.missing.clear();
  node.has_restart = false;
}

bool CounterUsage::Fits(const std::vector<Growth>& growth, int64_t steps, const Node& node) const {
  int64_t counted = 0;
  int64_t gpus = 0;
  for (const Growth& each : growth) counted += each.micros;
  for (const auto& [model, count] : node.gpus) gpus += count;
  return gpus == 0 || counted <= gpus * MicrosOf(steps + 1);
}

std::map<std::string, int64_t> CounterUsage::ByModel(const std::vector<Growth>& growth) const {
  std::map<std::string, int64_t> micros;
  for (const Growth& each : growth) micros[ids_[each.id].key.gpu_model] += each.micros;
  return micros;
}

void CounterUsage::BookJoined(const std::string& name, Node& node) {
  if (!node.joined) return;
  std::vector<Growth> growth;
  for (const Counter& counter : node.joined->counters) {
    growth.push_back({.id = counter.id, .micros = MicrosOfSeconds(counter.seconds)});
  }
  int64_t counted = 0;
  int64_t possible = 0;
  for (const Growth& each : growth) counted += each.micros;
  for (const auto& [model, gpus] : node.gpus) possible += gpus * MicrosOf(node.joined_step);
  if (counted <= possible) {
    Book(growth);
  } else {
    for (const auto& [model, gpus] : node.gpus) {
      BookUnknown(name, model, gpus * MicrosOf(node.joined_step));
    }
  }
  node.joined.reset();
}

bool CounterUsage::WasRemoved(const Node& node) const {
  return (fleet_steps_ - node.fleet_steps) * step_ > longest_gap_;
}

void CounterUsage::BookUnknown(const std::string& name, const std::string& model, int64_t micros) {
  if (micros <= 0) return;
  UsageKey key;
  key.gpu_model = model;
  key.node = name;
  usage_[key][GpuState::kUnknown] += micros;
}

void CounterUsage::Book(const std::vector<Growth>& growth) {
  for (const Growth& each : growth) {
    if (each.micros > 0) usage_[ids_[each.id].key][ids_[each.id].state] += each.micros;
  }
}

void CounterUsage::EndStep() {
  for (const auto& [workload, micros] : held_in_step_) {
    int64_t& most = most_held_[workload];
    most = std::max(most, micros);
  }
  held_in_step_.clear();
}

void CounterUsage::Finish() {
  const int64_t last_step = next_step_ - 1;
  for (auto& [name, node] : nodes_) {
    const int64_t steps = last_step - node.step;
    if (steps > 0 && WasRemoved(node)) continue;
    if (steps > 0) {
      AddMissing({}, steps, node);
      node.has_restart = true;
    }
    BookMissing(name, node);
  }
}

std::vector<Usage> CounterUsage::usage() const {
  std::vector<Usage> usage;
  for (const auto& [key, times] : usage_) usage.push_back({.key = key, .times = times});
  return usage;
}

std::vector<StaticFleet> CounterUsage::static_fleets() const {
  std::map<UsageKey, int64_t> held;
  for (const auto& [key, times] : usage_) {
    UsageKey workload = key;
    workload.node.clear();
    held[workload] += times[GpuState::kBusy] + times[GpuState::kIdle] + times[GpuState::kStarting];
  }
  std::vector<StaticFleet> fleets;
  for (const auto& [workload, most] : most_held_) {
    fleets.push_back({.workload = workload,
                      .most_gpus = static_cast<double>(most) / static_cast<double>(MicrosOf(1)),
                      .held_micros = held[workload]});
  }
  return fleets;
}

}  // namespace gpuscaler
