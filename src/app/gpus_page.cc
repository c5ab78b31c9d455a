#include "app/gpus_page.h"

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/number_text.h"
#include "nlohmann/json.hpp"
#include "workload/holding.h"

namespace gpuscaler {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMib = 1024 * 1024;

std::string Utc(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

std::string Text(const std::optional<double>& number) { return number ? NumberText(*number) : ""; }
std::string Text(const std::optional<int>& number) { return number ? absl::StrCat(*number) : ""; }

template <typename T>
Json JsonOf(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json JsonOf(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// A number of a sample: its column in CSV and JSON, and what it is.
struct Column {
  const char* name;
  std::optional<double> (*read)(const GpuSample&);
};

std::optional<double> Wide(const std::optional<int64_t>& number) {
  if (!number) return std::nullopt;
  return static_cast<double>(*number);
}

const Column kColumns[] = {
    {"utilization_percent", [](const GpuSample& gpu) { return gpu.utilization_percent; }},
    {"memory_utilization_percent",
     [](const GpuSample& gpu) { return gpu.memory_utilization_percent; }},
    {"memory_used_bytes", [](const GpuSample& gpu) { return Wide(gpu.memory_used_bytes); }},
    {"memory_total_bytes", [](const GpuSample& gpu) { return Wide(gpu.memory_total_bytes); }},
    {"temperature_celsius", [](const GpuSample& gpu) { return gpu.temperature_celsius; }},
    {"power_watts", [](const GpuSample& gpu) { return gpu.power_watts; }},
    {"power_limit_watts", [](const GpuSample& gpu) { return gpu.power_limit_watts; }},
    {"pcie_tx_kbps", [](const GpuSample& gpu) { return gpu.pcie_tx_kbps; }},
    {"pcie_rx_kbps", [](const GpuSample& gpu) { return gpu.pcie_rx_kbps; }},
    {"nvlink_tx_mbps", [](const GpuSample& gpu) { return gpu.nvlink_tx_mbps; }},
    {"nvlink_rx_mbps", [](const GpuSample& gpu) { return gpu.nvlink_rx_mbps; }},
    {"ecc_uncorrected_errors",
     [](const GpuSample& gpu) { return Wide(gpu.ecc_uncorrected_errors); }},
};

Json NumberJson(const std::optional<double>& number) {
  if (!number) return nullptr;
  const auto whole = static_cast<int64_t>(*number);
  if (static_cast<double>(whole) == *number) return whole;
  return RoundToThreeDecimals(*number);
}

Json ProcessesJson(const GpuSample& gpu) {
  if (!gpu.processes) return nullptr;
  Json processes = Json::array();
  for (const GpuProcess& process : *gpu.processes) {
    processes.push_back({{"pid", process.pid}, {"memory_bytes", JsonOf(process.memory_bytes)}});
  }
  return processes;
}

// Null where nobody knows, or asks.
Json HoldersJson(const NodeSnapshot& snapshot, const GpuSample& gpu) {
  if (snapshot.attribution.state != Attribution::State::kKnown) return nullptr;
  Json holders = Json::array();
  for (const GpuHolder& holder : gpu.holders) {
    const Pod& pod = snapshot.pods[holder.pod];
    Json owners = Json::array();
    for (const PodOwner& owner : pod.owners) {
      owners.push_back(absl::StrCat(owner.kind, "/", owner.name));
    }
    holders.push_back({{"namespace", pod.namespace_name},
                       {"pod", pod.name},
                       {"container", JsonOf(holder.container)},
                       {"share", NumberJson(holder.share)},
                       {"ready", JsonOf(pod.ready)},
                       {"owners", std::move(owners)}});
  }
  return holders;
}

Json GpuJson(const NodeSnapshot& snapshot, const GpuSample& gpu) {
  Json json = {{"index", gpu.index},
               {"uuid", gpu.uuid},
               {"parent_uuid", JsonOf(gpu.parent_uuid)},
               {"name", JsonOf(gpu.name)}};
  for (const Column& column : kColumns) json[column.name] = NumberJson(column.read(gpu));
  json["throttle_reasons"] = JsonOf(gpu.throttle_reasons);
  json["processes"] = ProcessesJson(gpu);
  json["in_use"] = JsonOf(InUse(gpu));
  json["holders"] = HoldersJson(snapshot, gpu);
  Json unreadable = Json::object();
  for (const GpuGap& gap : gpu.gaps) unreadable[std::string(Name(gap.field))] = gap.detail;
  json["unreadable"] = unreadable;
  return json;
}

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string CsvRow(const std::vector<std::string>& fields) {
  std::vector<std::string> quoted;
  for (const std::string& field : fields) quoted.push_back(CsvField(field));
  return absl::StrCat(absl::StrJoin(quoted, ","), "\n");
}

std::string InUseText(const GpuSample& gpu) {
  const std::optional<bool> in_use = InUse(gpu);
  if (!in_use) return "";
  return *in_use ? "true" : "false";
}

// "power=NVML error 15 (GPU_IS_LOST);temperature=...": a blank field that is not named here does
// not exist on the device.
std::string UnreadableText(const GpuSample& gpu) {
  return absl::StrJoin(gpu.gaps, ";", [](std::string* text, const GpuGap& gap) {
    absl::StrAppend(text, Name(gap.field), "=", absl::StrReplaceAll(Why(gap), {{";", ","}}));
  });
}

// "shop/web-0/main", of several with their shares: "shop/web-0/main=0.75;shop/web-1/main=0.25".
std::string HoldersText(const NodeSnapshot& snapshot, const GpuSample& gpu) {
  const bool is_shared = gpu.holders.size() > 1;
  return absl::StrJoin(gpu.holders, ";", [&](std::string* text, const GpuHolder& holder) {
    const Pod& pod = snapshot.pods[holder.pod];
    absl::StrAppend(text, pod.namespace_name, "/", pod.name, "/", holder.container,
                    is_shared ? absl::StrCat("=", NumberText(holder.share)) : "");
  });
}

std::vector<std::string> CsvFields(const GpusPage& page, const GpuSample& gpu) {
  const JobEnvironment& job = page.job;
  std::vector<std::string> fields = {Utc(page.snapshot.taken_at),
                                     std::string(Name(job.kind)),
                                     job.job,
                                     job.job_name,
                                     Text(job.rank),
                                     Text(job.local_rank),
                                     job.node,
                                     job.namespace_name,
                                     job.pod,
                                     absl::StrCat(gpu.index),
                                     gpu.uuid,
                                     gpu.parent_uuid,
                                     gpu.name};
  for (const Column& column : kColumns) fields.push_back(Text(column.read(gpu)));
  fields.push_back(gpu.throttle_reasons ? absl::StrCat(*gpu.throttle_reasons) : "");
  fields.push_back(gpu.processes ? absl::StrCat(gpu.processes->size()) : "");
  fields.push_back(InUseText(gpu));
  fields.push_back(UnreadableText(gpu));
  fields.push_back(HoldersText(page.snapshot, gpu));
  return fields;
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string MibText(const std::optional<int64_t>& bytes) {
  return bytes ? absl::StrCat(static_cast<int64_t>(static_cast<double>(*bytes) / kMib)) : "-";
}

std::string Pair(const std::optional<double>& first, const std::optional<double>& second) {
  return absl::StrCat(OrDash(Text(first)), "/", OrDash(Text(second)));
}

bool IsAttributed(const NodeSnapshot& snapshot) {
  return snapshot.attribution.state != Attribution::State::kNone;
}

std::vector<std::string> TableCells(const NodeSnapshot& snapshot, const GpuSample& gpu) {
  std::vector<std::string> cells = {
      IsMig(gpu) ? absl::StrCat(gpu.index, " MIG") : absl::StrCat(gpu.index),
      OrDash(gpu.name),
      OrDash(Text(gpu.utilization_percent)),
      absl::StrCat(MibText(gpu.memory_used_bytes), "/", MibText(gpu.memory_total_bytes)),
      OrDash(Text(gpu.temperature_celsius)),
      Pair(gpu.power_watts, gpu.power_limit_watts),
      Pair(gpu.pcie_tx_kbps, gpu.pcie_rx_kbps),
      Pair(gpu.nvlink_tx_mbps, gpu.nvlink_rx_mbps),
      gpu.processes ? absl::StrCat(gpu.processes->size()) : "-",
      gpu.uuid};
  if (IsAttributed(snapshot)) cells.push_back(OrDash(HoldersText(snapshot, gpu)));
  return cells;
}

// Columns as wide as their widest cell, two blanks apart.
std::string Aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&line, row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  }
  return text;
}

// "slurm job=42 (train) rank=0 node=gpu-7 pod=-"
std::string JobLine(const JobEnvironment& job) {
  const std::string name = job.job_name.empty() ? "" : absl::StrCat(" (", job.job_name, ")");
  return absl::StrCat(Name(job.kind), " job=", OrDash(job.job), name,
                      " rank=", OrDash(Text(job.rank)), " node=", OrDash(job.node),
                      " pod=", OrDash(job.pod));
}

std::string GapLines(const NodeSnapshot& snapshot) {
  std::string text;
  for (const GpuSample& gpu : snapshot.gpus) {
    for (const GpuGap& gap : gpu.gaps) {
      absl::StrAppend(&text, "GPU ", gpu.index, " ", Name(gap.field), ": ", OrDash(gap.detail),
                      "\n");
    }
  }
  return text;
}

}  // namespace

std::string GpusTable(const GpusPage& page) {
  const NodeSnapshot& snapshot = page.snapshot;
  std::string text = absl::StrCat(Utc(snapshot.taken_at), " ", snapshot.source, " driver ",
                                  OrDash(snapshot.driver_version), "\n", JobLine(page.job), "\n");
  if (snapshot.gpus.empty()) {
    absl::StrAppend(&text, "no GPU\n");
  } else {
    std::vector<std::vector<std::string>> rows = {{"GPU", "NAME", "UTIL %", "MEMORY MiB", "TEMP C",
                                                   "POWER W", "PCIE TX/RX KB/s",
                                                   "NVLINK TX/RX MiB/s", "PROCESSES", "UUID"}};
    if (IsAttributed(snapshot)) rows[0].push_back("HELD BY");
    for (const GpuSample& gpu : snapshot.gpus) rows.push_back(TableCells(snapshot, gpu));
    absl::StrAppend(&text, Aligned(rows));
  }
  absl::StrAppend(&text, GapLines(snapshot));
  if (!snapshot.attribution.why.empty()) {
    absl::StrAppend(&text, "holders unknown: ", snapshot.attribution.why, "\n");
  }
  for (const std::string& note : page.notes) absl::StrAppend(&text, "note: ", note, "\n");
  return text;
}

std::string GpusJson(const GpusPage& page, bool one_line) {
  const JobEnvironment& job = page.job;
  Json json = {{"time", Utc(page.snapshot.taken_at)},
               {"environment", std::string(Name(job.kind))},
               {"job", JsonOf(job.job)},
               {"job_name", JsonOf(job.job_name)},
               {"rank", JsonOf(job.rank)},
               {"local_rank", JsonOf(job.local_rank)},
               {"node", JsonOf(job.node)},
               {"namespace", JsonOf(job.namespace_name)},
               {"pod", JsonOf(job.pod)},
               {"source", JsonOf(page.snapshot.source)},
               {"driver_version", JsonOf(page.snapshot.driver_version)},
               {"holders_unknown", JsonOf(page.snapshot.attribution.why)},
               {"gpus", Json::array()},
               {"notes", page.notes}};
  for (const GpuSample& gpu : page.snapshot.gpus)
    json["gpus"].push_back(GpuJson(page.snapshot, gpu));
  // Whatever bytes a driver or a file put into a name: the output is valid UTF-8.
  return absl::StrCat(json.dump(one_line ? -1 : 2, ' ', false, Json::error_handler_t::replace),
                      "\n");
}

std::string GpusCsvHeader() {
  std::vector<std::string> names = {"time",       "environment", "job",       "job_name", "rank",
                                    "local_rank", "node",        "namespace", "pod",      "index",
                                    "uuid",       "parent_uuid", "name"};
  for (const Column& column : kColumns) names.emplace_back(column.name);
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
