#include "app/gpus_page.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "app/gpu_cells.h"
#include "base/printable_text.h"
#include "serve/gpu_families.h"
#include "workload/holding.h"

namespace gpuscaler {
namespace {

std::string Text(const std::optional<int>& number) { return number ? absl::StrCat(*number) : ""; }

OrderedJson RankJson(const std::optional<int>& rank) {
  return rank ? OrderedJson(*rank) : OrderedJson(nullptr);
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string CsvRow(const std::vector<std::string>& fields) {
  std::vector<std::string> quoted;
  for (const std::string& field : fields) quoted.push_back(CsvField(EscapedLine(field)));
  return absl::StrCat(absl::StrJoin(quoted, ","), "\n");
}

std::string InUseText(const GpuSample& gpu) {
  const std::optional<bool> in_use = InUse(gpu);
  if (!in_use) return "";
  return *in_use ? "true" : "false";
}

// Returns "power=NVML error 15 (GPU_IS_LOST);temperature=...". A blank field that is not listed
// here does not exist on the device.
std::string UnreadableText(const GpuSample& gpu) {
  return absl::StrJoin(gpu.gaps, ";", [](std::string* text, const GpuGap& gap) {
    absl::StrAppend(text, Name(gap.field), "=", absl::StrReplaceAll(Why(gap), {{";", ","}}));
  });
}

std::vector<std::string> CsvFields(const GpusPage& page, const GpuSample& gpu) {
  const JobEnvironment& job = page.job;
  std::vector<std::string> fields = {UtcText(page.snapshot.taken_at),
                                     std::string(Name(job.kind)),
                                     job.job,
                                     job.job_name,
                                     job.partition,
                                     Text(job.rank),
                                     Text(job.local_rank),
                                     job.node,
                                     job.namespace_name,
                                     job.pod,
                                     absl::StrCat(gpu.index),
                                     gpu.uuid,
                                     gpu.parent_uuid,
                                     gpu.name};
  for (const GpuNumber& number : GpuNumbers()) fields.push_back(TextOrBlank(number.value(gpu)));
  fields.push_back(gpu.throttle_reasons ? absl::StrCat(*gpu.throttle_reasons) : "");
  fields.push_back(gpu.processes ? absl::StrCat(gpu.processes->size()) : "");
  fields.push_back(InUseText(gpu));
  fields.push_back(UnreadableText(gpu));
  fields.push_back(HoldersText(page.snapshot, gpu));
  return fields;
}

std::string WholePair(const std::optional<double>& first, const std::optional<double>& second) {
  return absl::StrCat(WholeText(first), "/", WholeText(second));
}

bool IsAttributed(const NodeSnapshot& snapshot) {
  return snapshot.attribution.state != Attribution::State::kNone;
}

bool HasMig(const NodeSnapshot& snapshot) { return std::ranges::any_of(snapshot.gpus, IsMig); }

std::vector<std::string> TableHead(const NodeSnapshot& snapshot) {
  std::vector<std::string> names = {"GPU", "NAME"};
  if (HasMig(snapshot)) names.emplace_back("MIG");
  names.insert(names.end(), {"UTIL %", "MEM CTRL %", "MEMORY MiB", "TEMP C", "POWER W",
                             "PCIE TX/RX KB/s", "NVLINK TX/RX MiB/s", "PROCESSES", "UUID"});
  if (IsAttributed(snapshot)) names.emplace_back("HELD BY");
  return names;
}

// Numbers are rounded to whole ones; CSV and JSON have three decimals.
std::vector<std::string> TableCells(const NodeSnapshot& snapshot, const GpuSample& gpu) {
  std::vector<std::string> cells = {
      IsMig(gpu) ? absl::StrCat(gpu.index, " MIG") : absl::StrCat(gpu.index), OrDash(gpu.name)};
  if (HasMig(snapshot)) cells.push_back(OrDash(MigProfile(gpu)));
  cells.insert(
      cells.end(),
      {WholeText(gpu.utilization_percent), WholeText(gpu.memory_utilization_percent),
       absl::StrCat(MibText(gpu.memory_used_bytes), "/", MibText(gpu.memory_total_bytes)),
       WholeText(gpu.temperature_celsius), WholePair(gpu.power_watts, gpu.power_limit_watts),
       WholePair(gpu.pcie_tx_kbps, gpu.pcie_rx_kbps),
       WholePair(gpu.nvlink_tx_mbps, gpu.nvlink_rx_mbps),
       gpu.processes ? absl::StrCat(gpu.processes->size()) : "-", gpu.uuid});
  if (IsAttributed(snapshot)) cells.push_back(OrDash(HoldersText(snapshot, gpu)));
  return cells;
}

// Returns "slurm job=42 (train) partition=h200 rank=0 node=gpu-7 pod=-".
std::string JobLine(const JobEnvironment& job) {
  const std::string name = job.job_name.empty() ? "" : absl::StrCat(" (", job.job_name, ")");
  const std::string partition =
      job.partition.empty() ? "" : absl::StrCat(" partition=", job.partition);
  return absl::StrCat(Name(job.kind), " job=", OrDash(job.job), name, partition,
                      " rank=", OrDash(Text(job.rank)), " node=", OrDash(job.node),
                      " pod=", OrDash(job.pod));
}

void AppendGapLines(const NodeSnapshot& snapshot, std::vector<std::string>& lines) {
  for (const GpuSample& gpu : snapshot.gpus) {
    for (const GpuGap& gap : gpu.gaps) {
      lines.push_back(
          absl::StrCat("GPU ", gpu.index, " ", Name(gap.field), ": ", OrDash(gap.detail)));
    }
  }
}

}  // namespace

std::string GpusTable(const GpusPage& page) {
  const NodeSnapshot& snapshot = page.snapshot;
  std::vector<std::string> lines = {absl::StrCat(UtcText(snapshot.taken_at), " ", snapshot.source,
                                                 " driver ", OrDash(snapshot.driver_version)),
                                    JobLine(page.job)};
  if (snapshot.gpus.empty()) {
    lines.emplace_back("no GPU");
  } else {
    std::vector<std::vector<std::string>> rows = {TableHead(snapshot)};
    for (const GpuSample& gpu : snapshot.gpus) rows.push_back(TableCells(snapshot, gpu));
    for (std::string& row : Aligned(rows)) lines.push_back(std::move(row));
  }
  AppendGapLines(snapshot, lines);
  if (!snapshot.attribution.why.empty()) {
    lines.push_back(absl::StrCat("holders unknown: ", snapshot.attribution.why));
  }
  for (const std::string& note : page.notes) lines.push_back(absl::StrCat("note: ", note));
  return EscapedLines(lines);
}

std::string GpusJson(const GpusPage& page, bool one_line) {
  const JobEnvironment& job = page.job;
  OrderedJson json = {{"time", UtcText(page.snapshot.taken_at)},
                      {"environment", std::string(Name(job.kind))},
                      {"job", TextJson(job.job)},
                      {"job_name", TextJson(job.job_name)},
                      {"partition", TextJson(job.partition)},
                      {"rank", RankJson(job.rank)},
                      {"local_rank", RankJson(job.local_rank)},
                      {"node", TextJson(job.node)},
                      {"namespace", TextJson(job.namespace_name)},
                      {"pod", TextJson(job.pod)},
                      {"source", TextJson(page.snapshot.source)},
                      {"driver_version", TextJson(page.snapshot.driver_version)},
                      {"holders_unknown", TextJson(page.snapshot.attribution.why)},
                      {"gpus", OrderedJson::array()},
                      {"notes", page.notes}};
  for (const GpuSample& gpu : page.snapshot.gpus)
    json["gpus"].push_back(GpuJson(page.snapshot, gpu));
  return JsonText(json, one_line);
}

std::string GpusCsvHeader() {
  std::vector<std::string> names = {"time",  "environment", "job",         "job_name",  "partition",
                                    "rank",  "local_rank",  "node",        "namespace", "pod",
                                    "index", "uuid",        "parent_uuid", "name"};
  for (const GpuNumber& number : GpuNumbers()) names.emplace_back(number.column);
  for (const char* name : {"throttle_reasons", "processes", "in_use", "unreadable", "holders"}) {
    names.emplace_back(name);
  }
  return CsvRow(names);
}

std::string GpusCsv(const GpusPage& page) {
  std::string rows;
  for (const GpuSample& gpu : page.snapshot.gpus) rows += CsvRow(CsvFields(page, gpu));
  return rows;
}

}  // namespace gpuscaler
