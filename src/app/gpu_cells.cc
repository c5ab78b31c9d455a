#include "app/gpu_cells.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "base/number_text.h"
#include "serve/gpu_families.h"
#include "workload/holding.h"

namespace gpuscaler {
namespace {

constexpr double kMib = 1024 * 1024;

template <typename T>
OrderedJson JsonOf(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson(nullptr);
}

OrderedJson ProcessesJson(const GpuSample& gpu) {
  if (!gpu.processes) return nullptr;
  OrderedJson processes = OrderedJson::array();
  for (const GpuProcess& process : *gpu.processes) {
    processes.push_back({{"pid", process.pid}, {"memory_bytes", JsonOf(process.memory_bytes)}});
  }
  return processes;
}

// Returns null if holders are unknown or not read.
OrderedJson HoldersJson(const NodeSnapshot& snapshot, const GpuSample& gpu) {
  if (snapshot.attribution.state != Attribution::State::kKnown) return nullptr;
  OrderedJson holders = OrderedJson::array();
  for (const GpuHolder& holder : gpu.holders) {
    const Pod& pod = snapshot.pods[holder.pod];
    OrderedJson owners = OrderedJson::array();
    for (const PodOwner& owner : pod.owners) {
      owners.push_back(absl::StrCat(owner.kind, "/", owner.name));
    }
    holders.push_back({{"namespace", pod.namespace_name},
                       {"pod", pod.name},
                       {"container", TextJson(holder.container)},
                       {"share", holder.is_possible ? nullptr : NumberJson(holder.share)},
                       {"ready", JsonOf(pod.ready)},
                       {"owners", std::move(owners)}});
  }
  return holders;
}

}  // namespace

std::string UtcText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3SZ", time, absl::UTCTimeZone());
}

std::string OrDash(const std::string& text) { return text.empty() ? "-" : text; }

std::string TextOrBlank(const std::optional<double>& number) {
  return number ? NumberText(*number) : "";
}

std::string MibText(const std::optional<int64_t>& bytes) {
  return bytes ? absl::StrCat(static_cast<int64_t>(static_cast<double>(*bytes) / kMib)) : "-";
}

std::string WholeText(const std::optional<double>& number) {
  return number ? absl::StrCat(std::llround(*number)) : "-";
}

std::string MigProfile(const GpuSample& gpu) {
  constexpr absl::string_view kBefore = " MIG ";
  const absl::string_view name = gpu.name;
  const size_t found = name.rfind(kBefore);
  if (!IsMig(gpu) || found == absl::string_view::npos) return "";
  return std::string(name.substr(found + kBefore.size()));
}

std::string HoldersText(const NodeSnapshot& snapshot, const GpuSample& gpu) {
  const bool is_shared = gpu.holders.size() > 1;
  return absl::StrJoin(gpu.holders, ";", [&](std::string* text, const GpuHolder& holder) {
    const Pod& pod = snapshot.pods[holder.pod];
    absl::StrAppend(text, pod.namespace_name, "/", pod.name);
    if (!holder.container.empty()) absl::StrAppend(text, "/", holder.container);
    if (holder.is_possible) {
      absl::StrAppend(text, "?");
    } else if (is_shared) {
      absl::StrAppend(text, "=", NumberText(holder.share));
    }
  });
}

OrderedJson TextJson(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

OrderedJson NumberJson(const std::optional<double>& number) {
  if (!number) return nullptr;
  const auto whole = static_cast<int64_t>(*number);
  if (static_cast<double>(whole) == *number) return whole;
  return RoundToThreeDecimals(*number);
}

OrderedJson GpuJson(const NodeSnapshot& snapshot, const GpuSample& gpu) {
  OrderedJson json = {{"index", gpu.index},
                      {"uuid", gpu.uuid},
                      {"parent_uuid", TextJson(gpu.parent_uuid)},
                      {"name", TextJson(gpu.name)},
                      {"link_group", TextJson(gpu.link_group)}};
  for (const GpuNumber& number : GpuNumbers()) json[number.column] = NumberJson(number.value(gpu));
  json["throttle_reasons"] = JsonOf(gpu.throttle_reasons);
  json["processes"] = ProcessesJson(gpu);
  json["in_use"] = JsonOf(InUse(gpu));
  json["holders"] = HoldersJson(snapshot, gpu);
  OrderedJson unreadable = OrderedJson::object();
  for (const GpuGap& gap : gpu.gaps) unreadable[std::string(Name(gap.field))] = gap.detail;
  json["unreadable"] = unreadable;
  return json;
}

std::vector<std::string> Aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows.front().size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      absl::StrAppend(&line, row[i], std::string(widths[i] - row[i].size() + 2, ' '));
    }
    lines.emplace_back(absl::StripTrailingAsciiWhitespace(line));
  }
  return lines;
}

std::string JsonText(const OrderedJson& json, bool one_line) {
  return absl::StrCat(
      json.dump(one_line ? -1 : 2, ' ', false, OrderedJson::error_handler_t::replace), "\n");
}

}  // namespace gpuscaler
