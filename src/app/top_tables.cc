#include "app/top_tables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "app/sparkline.h"
#include "app/web_client.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "base/printable_text.h"

namespace gpuscaler {
namespace {

constexpr size_t kSparkColumns = 20;
constexpr double kMostGpusOfNode = 100'000;

struct StateLetter {
  char letter;
  absl::string_view name;
};
constexpr std::array<StateLetter, 5> kStateLetters = {
    {{'b', "busy"}, {'h', "held, at 0"}, {'s', "starting"}, {'f', "free"}, {'u', "unreadable"}}};

TextCell Words(std::string text) { return {.text = std::move(text)}; }
TextCell Amount(const std::optional<double>& number) {
  return {.text = NumberOrDash(number), .number = number};
}
TextCell Count(size_t number) { return Amount(static_cast<double>(number)); }

TextCell Age(const std::optional<double>& seconds) {
  if (!seconds) return Amount(seconds);
  return {.text = AgeText(absl::Seconds(*seconds)), .number = seconds};
}

bool IsError(const WebDocument& row) { return NumberOf(row, "code").value_or(0) != 0; }

// Returns the trouble, or the message of an error without one.
std::string TroubleOf(const WebDocument& row) {
  std::string trouble = TextOf(row, "trouble");
  return trouble.empty() && IsError(row) ? TextOf(row, "message") : trouble;
}

Tone ToneOf(const WebDocument& row) {
  if (IsError(row)) return Tone::kError;
  return TroubleOf(row).empty() ? Tone::kPlain : Tone::kWarning;
}

std::string NameOf(const WebDocument& row) {
  return absl::StrCat(TextOf(row, "namespace"), "/", TextOf(row, "name"));
}

// Returns the name that the web page shows beside the workload.
std::string MetricOrProfile(const WebDocument& row) {
  std::string profile = TextOf(row, "profile");
  return profile.empty() ? TextOf(row, "metric") : profile;
}

std::string ActiveText(const WebDocument& row) {
  if (IsError(row)) return "-";
  return BoolOf(row, "active") ? "yes" : "no";
}

// Returns the mean of the known numbers, or nullopt.
std::optional<double> Mean(std::span<const std::optional<double>> numbers) {
  double sum = 0;
  int count = 0;
  for (const std::optional<double>& number : numbers) {
    if (!number) continue;
    sum += *number;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

TextCell Whole(const std::optional<double>& number) {
  if (!number) return Amount(number);
  return {.text = absl::StrCat(std::llround(*number)), .number = number};
}

std::string Joined(const WebDocument& list, absl::string_view separator) {
  std::vector<std::string> texts;
  if (list.is_array()) {
    for (const WebDocument& element : list) {
      texts.push_back(element.is_string() ? EscapedLine(element.get<std::string>())
                                          : element.dump());
    }
  }
  return absl::StrJoin(texts, separator);
}

// The GPUs of one node in the arrays of /api/v1/fleet.
struct NodeGpus {
  absl::string_view states;
  std::span<const std::optional<double>> utilization;
  std::span<const std::optional<double>> memory;
};

// Returns the part from `begin` on, shorter if the array is.
template <typename Elements>
Elements Part(Elements all, size_t begin, size_t count) {
  begin = std::min(begin, all.size());
  return Elements(all.data() + begin, std::min(count, all.size() - begin));
}

TextRow NodeRow(const WebDocument& node, const NodeGpus& gpus, const TextStyle& style) {
  TextRow row;
  const std::string why = TextOf(node, "why");
  row.key = TextOf(node, "name");
  row.tone = why.empty() ? Tone::kPlain : Tone::kWarning;
  row.cells = {Words(row.key), Amount(NumberOf(node, "gpus"))};
  for (const StateLetter& state : kStateLetters) {
    row.cells.push_back(Count(static_cast<size_t>(std::ranges::count(gpus.states, state.letter))));
  }
  row.cells.push_back(Words(Joined(FieldOf(node, "free_groups"), "+")));
  row.cells.push_back(Whole(Mean(gpus.utilization)));
  row.cells.push_back(Whole(Mean(gpus.memory)));
  row.cells.push_back(Words(std::string(gpus.states)));
  row.cells.push_back(
      Words(Sparkline(gpus.utilization, gpus.utilization.size(), style.ascii, 100)));
  row.cells.push_back(Age(NumberOf(node, "age_seconds")));
  row.cells.push_back(Words(why));
  return row;
}

// Returns the name of a letter, and other texts as they are.
std::string StateName(std::string letter) {
  for (const StateLetter& state : kStateLetters) {
    if (letter == absl::string_view(&state.letter, 1)) return std::string(state.name);
  }
  return letter;
}

TextCell Mebibytes(const WebDocument& gpu, absl::string_view name) {
  const std::optional<double> bytes = NumberOf(gpu, name);
  if (!bytes) return Amount(bytes);
  constexpr double kMebibyte = 1 << 20;
  return {.text = absl::StrCat(std::llround(*bytes / kMebibyte)), .number = bytes};
}

}  // namespace

std::string ExplanationPath(const WebDocument& row) {
  const auto raw = [&row](absl::string_view name) {
    const WebDocument& field = FieldOf(row, name);
    return field.is_string() ? UrlEscaped(field.get<std::string>()) : "";
  };
  return absl::StrCat(raw("namespace"), "/", raw("name"), "/explanation?trigger=", raw("trigger"));
}

TextTable WorkloadTable(const WebDocument& workloads, const TextStyle& style) {
  TextTable table;
  table.columns = {{.name = "WORKLOAD", .least_width = 30},
                   {.name = "METRIC", .least_width = 12, .rank = 7},
                   {.name = "VALUE", .is_number = true},
                   {.name = "TARGET", .is_number = true, .rank = 1},
                   {.name = "REPLICAS", .is_number = true},
                   {.name = "DESIRED", .is_number = true, .rank = 2},
                   {.name = "STARTING", .is_number = true, .rank = 5},
                   {.name = "UNREADABLE", .is_number = true, .rank = 6},
                   {.name = "TERMINATING", .is_number = true, .rank = 9},
                   {.name = "ACTIVE", .rank = 3},
                   {.name = "LAST 15 MINUTES", .rank = 8},
                   {.name = "TROUBLE", .least_width = 12, .rank = 4}};
  const WebDocument& rows = FieldOf(workloads, "workloads");
  if (!rows.is_array()) return table;
  std::map<std::string, int> triggers;
  for (const WebDocument& row : rows) ++triggers[NameOf(row)];
  for (const WebDocument& row : rows) {
    const std::string name = NameOf(row);
    const std::vector<SparklinePoint> spark = NumbersOf(row, "spark");
    table.rows.push_back(
        {.key = ExplanationPath(row),
         .cells = {Words(triggers[name] > 1 ? absl::StrCat(name, " ", TextOf(row, "trigger"))
                                            : name),
                   Words(MetricOrProfile(row)), Amount(NumberOf(row, "value")),
                   Amount(NumberOf(row, "target")), Amount(NumberOf(row, "replicas")),
                   Amount(NumberOf(row, "desired")), Amount(NumberOf(row, "starting")),
                   Amount(NumberOf(row, "unreadable")), Amount(NumberOf(row, "terminating")),
                   Words(ActiveText(row)),
                   Words(spark.empty() ? "" : Sparkline(spark, kSparkColumns, style.ascii)),
                   Words(TroubleOf(row))},
         .tone = ToneOf(row)});
  }
  return table;
}

size_t TroubledRows(const WebDocument& workloads) {
  const WebDocument& rows = FieldOf(workloads, "workloads");
  if (!rows.is_array()) return 0;
  return static_cast<size_t>(std::ranges::count_if(
      rows, [](const WebDocument& row) { return ToneOf(row) != Tone::kPlain; }));
}

TextTable NodeTable(const WebDocument& fleet, const TextStyle& style) {
  TextTable table;
  table.columns = {{.name = "NODE", .least_width = 30},
                   {.name = "GPUS", .is_number = true},
                   {.name = "BUSY", .is_number = true},
                   {.name = "AT 0", .is_number = true},
                   {.name = "STARTING", .is_number = true, .rank = 4},
                   {.name = "FREE", .is_number = true},
                   {.name = "UNREADABLE", .is_number = true, .rank = 5},
                   {.name = "FREE GROUPS", .rank = 8},
                   {.name = "UTIL %", .is_number = true, .rank = 1},
                   {.name = "MEM %", .is_number = true, .rank = 2},
                   {.name = "STATES", .rank = 3},
                   {.name = "UTIL", .rank = 7},
                   {.name = "AGE", .is_number = true, .rank = 9},
                   {.name = "NOT COUNTED BECAUSE", .least_width = 12, .rank = 6}};
  const WebDocument& nodes = FieldOf(fleet, "nodes");
  if (!nodes.is_array()) return table;
  const WebDocument& gpus = FieldOf(fleet, "gpu");
  const std::string states = TextOf(gpus, "state");
  const std::vector<std::optional<double>> utilization = NumbersOf(gpus, "utilization");
  const std::vector<std::optional<double>> memory = NumbersOf(gpus, "memory");
  size_t begin = 0;
  for (const WebDocument& node : nodes) {
    const auto count =
        static_cast<size_t>(std::clamp(NumberOf(node, "gpus").value_or(0), 0.0, kMostGpusOfNode));
    const NodeGpus own = {
        .states = Part<absl::string_view>(states, begin, count),
        .utilization = Part<std::span<const std::optional<double>>>(utilization, begin, count),
        .memory = Part<std::span<const std::optional<double>>>(memory, begin, count)};
    table.rows.push_back(NodeRow(node, own, style));
    begin += count;
  }
  return table;
}

std::string FleetSummary(const WebDocument& fleet) {
  const std::string states = TextOf(FieldOf(fleet, "gpu"), "state");
  std::vector<std::string> counts;
  for (const StateLetter& state : kStateLetters) {
    const auto count = std::ranges::count(states, state.letter);
    if (count > 0) counts.push_back(absl::StrCat(count, " ", state.name));
  }
  return absl::StrCat(CountText(static_cast<int64_t>(states.size()), "GPU"),
                      counts.empty() ? "" : ": ", absl::StrJoin(counts, "; "));
}

TextTable GpuTable(const WebDocument& node, const TextStyle& /*style*/) {
  TextTable table;
  table.columns = {{.name = "GPU"},
                   {.name = "MODEL", .least_width = 11, .rank = 4},
                   {.name = "STATE"},
                   {.name = "UTIL %", .is_number = true},
                   {.name = "USED MiB", .is_number = true, .rank = 1},
                   {.name = "TOTAL MiB", .is_number = true, .rank = 2},
                   {.name = "POWER W", .is_number = true, .rank = 5},
                   {.name = "TEMP C", .is_number = true, .rank = 6},
                   {.name = "HELD FOR", .is_number = true, .rank = 7},
                   {.name = "OWNER", .least_width = 16},
                   {.name = "PODS", .least_width = 12, .rank = 3},
                   {.name = "UNREADABLE", .least_width = 12, .rank = 8}};
  const WebDocument& gpus = FieldOf(node, "gpus");
  if (!gpus.is_array()) return table;
  const std::optional<double> now = NumberOf(node, "now");
  for (const WebDocument& gpu : gpus) {
    const std::optional<double> since = NumberOf(gpu, "since");
    const std::string gap = TextOf(gpu, "gap");
    const WebDocument& index = FieldOf(gpu, "index");
    table.rows.push_back(
        {.key = TextOf(gpu, "uuid"),
         .cells = {Words(index.is_string() ? TextOf(gpu, "index")
                                           : NumberOrDash(NumberOf(gpu, "index"))),
                   Words(TextOf(gpu, "model")), Words(StateName(TextOf(gpu, "state"))),
                   Whole(NumberOf(gpu, "utilization")), Mebibytes(gpu, "memory_used"),
                   Mebibytes(gpu, "memory_total"), Whole(NumberOf(gpu, "power")),
                   Whole(NumberOf(gpu, "temperature")),
                   Age(now && since ? std::optional(*now - *since) : std::nullopt),
                   Words(TextOf(gpu, "owner")), Words(Joined(FieldOf(gpu, "pods"), ", ")),
                   Words(gap)},
         .tone = gap.empty() ? Tone::kPlain : Tone::kWarning});
  }
  return table;
}

}  // namespace gpuscaler
