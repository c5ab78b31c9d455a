#include "loop_table.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace gpuscaler {
namespace {

// The smallest constant number of replicas with 99 % of the requests within the goals. Only for
// constant loads: for a changing one it is no useful reference.
LoopOutcome RunFewest(const LoopCell& cell, const LoopScenario& scenario) {
  if (cell.known_load == nullptr || !absl::StrContains(cell.load, "constant")) return {};
  for (int replicas = 1; replicas <= kMaxReplicas; ++replicas) {
    ScheduledPolicy policy(replicas);
    LoopResult result = RunLoop(scenario, policy);
    if (result.totals.slo_percent() >= 99) return {.totals = result.totals, .ran = true};
  }
  return {};
}

LoopOutcome RunOne(const LoopCell& cell, const NamedPolicy& policy, const LoopScenario& scenario) {
  if (policy.make == nullptr) return RunFewest(cell, scenario);
  const std::unique_ptr<ReplicaPolicy> replicas =
      policy.make({*cell.preset, cell.known_load, scenario, cell.object});
  if (replicas == nullptr) return {};
  const LoopResult result = RunLoop(scenario, *replicas);
  LoopOutcome outcome{.totals = result.totals, .ran = true};
  if (cell.known_load != nullptr && cell.known_load->rises_at.has_value()) {
    outcome.until_enough =
        result.TimeUntilReady(cell.known_load->MostNeeded(), *cell.known_load->rises_at);
  }
  return outcome;
}

std::string Markdown(const std::vector<std::vector<std::string>>& rows) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    absl::StrAppend(&text, "| ", absl::StrJoin(rows[i], " | "), " |\n");
    if (i > 0) continue;
    for (size_t column = 0; column < rows[0].size(); ++column) absl::StrAppend(&text, "|---");
    absl::StrAppend(&text, "|\n");
  }
  return text;
}

std::string Aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      constexpr size_t kNames = 3;  // columns of text; numbers are aligned to the right
      const int width = static_cast<int>(widths[i]) * (i < kNames ? -1 : 1);
      absl::StrAppendFormat(&text, "%*s  ", width, row[i]);
    }
    text += '\n';
  }
  return text;
}

}  // namespace

LoopTable::LoopTable(std::vector<LoopCell> cells, std::vector<NamedPolicy> policies, int seeds)
    : cells_(std::move(cells)),
      policies_(std::move(policies)),
      seeds_(seeds),
      outcomes_(cells_.size() * static_cast<size_t>(seeds),
                std::vector<LoopOutcome>(policies_.size())) {}

void LoopTable::Run() {
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (size_t job = next++; job < outcomes_.size(); job = next++) RunJob(job);
    });
  }
}

std::string LoopTable::Text(bool markdown) const {
  std::vector<std::vector<std::string>> rows = {{"engine", "load", "policy", "GPU-hours", "SLO %",
                                                 "worst", "replicas", "mean", "changes/h",
                                                 "reversals/h", "s until enough"}};
  std::vector<std::vector<size_t>> groups;
  std::map<std::string, std::vector<size_t>> of_loads;
  for (size_t cell = 0; cell < cells_.size(); ++cell) {
    groups.push_back({cell});
    of_loads[cells_[cell].load].push_back(cell);
  }
  for (const auto& [load, cells] : of_loads) {
    if (cells.size() > 1) groups.push_back(cells);
  }
  for (const std::vector<size_t>& cells : groups) {
    for (size_t policy = 0; policy < policies_.size(); ++policy) {
      if (Of(cells.front(), 0, policy).ran) rows.push_back(Row(cells, policy));
    }
  }
  return markdown ? Markdown(rows) : Aligned(rows);
}

void LoopTable::RunJob(size_t job) {
  const LoopCell& cell = cells_[job / static_cast<size_t>(seeds_)];
  const LoopScenario scenario = cell.scenario(1 + job % static_cast<size_t>(seeds_));
  for (size_t policy = 0; policy < policies_.size(); ++policy) {
    outcomes_[job][policy] = RunOne(cell, policies_[policy], scenario);
  }
  std::fprintf(stderr, "loop: %s, %s, seed %zu\n", cell.engine.c_str(), cell.load.c_str(),
               1 + job % static_cast<size_t>(seeds_));
}

const LoopOutcome& LoopTable::Of(size_t cell, int seed, size_t policy) const {
  return outcomes_[cell * static_cast<size_t>(seeds_) + static_cast<size_t>(seed)][policy];
}

// Means of all seeds and cells, except for the worst SLO and the range of replicas.
std::vector<std::string> LoopTable::Row(const std::vector<size_t>& cells, size_t policy) const {
  const double runs = static_cast<double>(cells.size()) * seeds_;
  double gpu_hours = 0, replicas = 0, slo = 0, worst = 100, changes = 0, reversals = 0, enough = 0;
  int fewest = kMaxReplicas, most = 0;
  bool is_enough = true;
  for (size_t run = 0; run < cells.size() * static_cast<size_t>(seeds_); ++run) {
    const size_t seeds = static_cast<size_t>(seeds_);
    const LoopOutcome& outcome = Of(cells[run / seeds], static_cast<int>(run % seeds), policy);
    const LoopTotals& totals = outcome.totals;
    gpu_hours += totals.gpu_hours / runs;
    replicas += totals.mean_replicas / runs;
    slo += totals.slo_percent() / runs;
    worst = std::min(worst, totals.slo_percent());
    changes += totals.changes / totals.hours / runs;
    reversals += totals.direction_changes / totals.hours / runs;
    fewest = std::min(fewest, totals.fewest_replicas);
    most = std::max(most, totals.most_replicas);
    is_enough = is_enough && outcome.until_enough.has_value();
    enough += absl::ToDoubleSeconds(outcome.until_enough.value_or(absl::ZeroDuration())) / runs;
  }
  const LoopCell& first = cells_[cells.front()];
  const bool rises = first.known_load != nullptr && first.known_load->rises_at.has_value();
  return {cells.size() > 1 ? "mean" : first.engine,
          first.load,
          policies_[policy].name,
          absl::StrFormat("%.2f", gpu_hours),
          absl::StrFormat("%.1f", slo),
          absl::StrFormat("%.1f", worst),
          absl::StrFormat("%d..%d", fewest, most),
          absl::StrFormat("%.2f", replicas),
          absl::StrFormat("%.1f", changes),
          absl::StrFormat("%.1f", reversals),
          !rises       ? ""
          : !is_enough ? "never"
                       : absl::StrFormat("%.0f", enough)};
}

}  // namespace gpuscaler
