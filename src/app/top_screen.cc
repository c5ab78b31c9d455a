#include "app/top_screen.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "app/text_width.h"
#include "app/top_tables.h"
#include "app/web_client.h"
#include "base/duration_text.h"
#include "base/number_text.h"
#include "base/printable_text.h"

namespace gpuscaler {
namespace {

constexpr size_t kHeadLines = 3;  // above a table's heading, or an explanation
constexpr size_t kFootLines = 1;

bool HasTable(TopView view) { return view != TopView::kExplanation; }

// Returns the choices of the view, constant if the state is.
template <typename State>
auto& ChoicesOf(State& state) {
  if (state.view == TopView::kFleet) return state.fleet;
  return state.view == TopView::kNode ? state.gpus : state.workloads;
}

// Returns the rows in the order of the screen.
TextTable TableOf(const TopDocuments& documents, const TopState& state, const TextStyle& style) {
  TextTable table;
  if (state.view == TopView::kNode) {
    table = GpuTable(documents.opened, style);
  } else {
    table = state.view == TopView::kFleet ? NodeTable(documents.fleet, style)
                                          : WorkloadTable(documents.workloads, style);
    FilterRows(table, state.filter);
  }
  const TopState::Table& choices = ChoicesOf(state);
  if (choices.sorted) SortRows(table, *choices.sorted, choices.reversed);
  return table;
}

// Returns the first row if the selected one is gone.
size_t SelectedRow(const TextTable& table, const std::string& key) {
  const auto row = std::ranges::find(table.rows, key, &TextRow::key);
  return row == table.rows.end() ? 0 : static_cast<size_t>(row - table.rows.begin());
}

// Returns how many rows, or lines of an explanation, the screen has room for.
size_t PageRows(const TopView view, const TopSize& size) {
  const size_t others = kHeadLines + kFootLines + (HasTable(view) ? 1 : 0);
  return size.height > others ? size.height - others : 1;
}

// Returns the lines, each divided into parts of at most `width` columns.
std::vector<std::string> Wrapped(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    std::string line = EscapedLine(raw);
    while (width > 0 && TextWidth(line) > width) {
      const std::string begin(FirstColumns(line, width));
      line.erase(0, begin.size());
      lines.push_back(begin);
    }
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> ExplanationLines(const WebDocument& explanation, size_t width) {
  const WebDocument& text = FieldOf(explanation, "text");
  return text.is_string() ? Wrapped(text.get<std::string>(), width) : std::vector<std::string>();
}

std::string TimeOfDay(const std::optional<absl::Time>& time, absl::TimeZone zone) {
  return time ? absl::FormatTime("%H:%M:%S", *time, zone) : "-";
}

std::string Title(const WebDocument& status, absl::TimeZone zone) {
  const std::optional<absl::Time> now = TimeOf(status, "now");
  const std::optional<absl::Time> started = TimeOf(status, "started_at");
  std::string title = absl::StrCat("keda-gpu-scaler ", TextOf(status, "version"), "  ",
                                   TextOf(status, "role"), " ", TextOf(status, "instance"));
  if (now && started) absl::StrAppend(&title, "  up ", AgeText(*now - *started));
  return absl::StrCat(title, "  ", TimeOfDay(now, zone));
}

// Returns the error of the newest request, else what the fleet lacks.
std::string Banner(const TopDocuments& documents) {
  if (!documents.fault.empty()) {
    const std::string age = documents.age > absl::Seconds(1)
                                ? absl::StrCat("no reply for ", AgeText(documents.age), ": ")
                                : "";
    return absl::StrCat(age, EscapedLine(documents.fault));
  }
  const std::string partial = TextOf(FieldOf(documents.status, "fleet"), "partial");
  return partial.empty() ? "" : absl::StrCat("partial: ", partial);
}

// Returns "1 node", "2 nodes" or "- nodes".
std::string CountOrDash(const std::optional<double>& count, absl::string_view noun) {
  return count == 1.0 ? absl::StrCat("1 ", noun)
                      : absl::StrCat(NumberOrDash(count), " ", noun, "s");
}

std::string Counts(const TopDocuments& documents) {
  const WebDocument& rows = FieldOf(documents.workloads, "workloads");
  const WebDocument& fleet = FieldOf(documents.status, "fleet");
  std::string counts = rows.is_array()
                           ? absl::StrCat(CountText(static_cast<int64_t>(rows.size()), "trigger"),
                                          ", ", TroubledRows(documents.workloads), " in trouble; ")
                           : "";
  return absl::StrCat(counts, CountOrDash(NumberOf(fleet, "nodes"), "node"), ", ",
                      CountOrDash(NumberOf(fleet, "gpus"), "GPU"));
}

// Returns the third line: the views, or what is opened.
std::string Place(const TopDocuments& documents, const TopState& state, absl::TimeZone zone) {
  const WebDocument& opened = documents.opened;
  switch (state.view) {
    case TopView::kExplanation:
      return absl::StrCat("Why  ", TextOf(opened, "namespace"), "/", TextOf(opened, "name"), "  ",
                          TextOf(opened, "trigger"), "  at ",
                          TimeOfDay(TimeOf(opened, "at"), zone));
    case TopView::kNode:
      return absl::StrCat("Node  ", EscapedLine(state.opened));
    default:
      break;
  }
  const bool is_fleet = state.view == TopView::kFleet;
  std::string place = is_fleet ? " Workloads  [Fleet]" : "[Workloads]  Fleet ";
  if (is_fleet && documents.fleet.is_object()) {
    absl::StrAppend(&place, "  ", FleetSummary(documents.fleet));
  }
  if (state.types_filter || !state.filter.empty()) {
    absl::StrAppend(&place, "  filter: ", state.filter, state.types_filter ? "_" : "");
  }
  return place;
}

std::string Foot(const TopState& state) {
  if (state.types_filter) return "Enter: keep the filter   Esc: remove it";
  switch (state.view) {
    case TopView::kExplanation:
      return "q: quit   Esc: back   Up/Down: scroll";
    case TopView::kNode:
      return "q: quit   Esc: back   Up/Down: row   Left/Right: sort   r: reverse";
    default:
      return absl::StrCat("q: quit   Tab: ", state.view == TopView::kFleet ? "workloads" : "fleet",
                          "   Enter: ", state.view == TopView::kFleet ? "GPUs" : "why",
                          "   Up/Down: row   Left/Right: sort   r: reverse   /: filter");
  }
}

// Returns what the screen shows instead of rows.
std::vector<std::string> Empty(const TopDocuments& documents, const TopState& state) {
  const bool is_shown = state.view == TopView::kFleet       ? documents.fleet.is_object()
                        : state.view == TopView::kWorkloads ? documents.workloads.is_object()
                                                            : documents.opened.is_object();
  if (!is_shown) return {documents.fault.empty() ? "Loading ..." : ""};
  if (state.view == TopView::kExplanation) return {"The reply has no explanation."};
  if (state.view == TopView::kNode) return {"The node has no GPU."};
  if (!state.filter.empty()) return {"No row matches the filter. /, Esc: remove it"};
  if (state.view == TopView::kFleet) return {"No node with a GPU is known."};
  std::vector<std::string> lines = {"No ScaledObject requests values from this scaler."};
  if (TextOf(documents.status, "role") == "aggregator") {
    lines.emplace_back("KEDA may request them from the other aggregator. To reach its pod:");
    lines.emplace_back("  kubectl port-forward pod/NAME 8082");
  }
  return lines;
}

std::vector<std::string> BodyLines(const TopDocuments& documents, const TopState& state,
                                   const TopSize& size, const TextStyle& style) {
  const size_t page = PageRows(state.view, size);
  std::vector<std::string> empty = Empty(documents, state);
  for (std::string& line : empty) line = FittedLeft(line, size.width, style.ascii);
  if (!HasTable(state.view)) {
    std::vector<std::string> lines = ExplanationLines(documents.opened, size.width);
    if (lines.empty()) return empty;
    lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(
                                                   std::min(state.scrolled, lines.size())));
    return lines;
  }
  const TextTable table = TableOf(documents, state, style);
  if (table.rows.empty()) return empty;
  const TopState::Table& choices = ChoicesOf(state);
  const size_t selected = SelectedRow(table, choices.selected);
  // The selected row stays in the middle, except at both ends.
  const size_t last_first = table.rows.size() > page ? table.rows.size() - page : 0;
  const size_t first = std::min(selected > page / 2 ? selected - page / 2 : 0, last_first);
  return TableLines(table,
                    {.first = first,
                     .count = page,
                     .width = size.width,
                     .selected = selected,
                     .sorted = choices.sorted},
                    style);
}

void MoveRow(const TextTable& table, std::ptrdiff_t by, TopState::Table& choices) {
  if (table.rows.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(table.rows.size()) - 1;
  const auto from = static_cast<std::ptrdiff_t>(SelectedRow(table, choices.selected));
  choices.selected =
      table.rows[static_cast<size_t>(std::clamp<std::ptrdiff_t>(from + by, 0, last))].key;
}

// Left of the first column is the server's order.
void MoveSorting(const TextTable& table, std::ptrdiff_t by, TopState::Table& choices) {
  const auto count = static_cast<std::ptrdiff_t>(table.columns.size());
  const std::ptrdiff_t from =
      choices.sorted ? static_cast<std::ptrdiff_t>(*choices.sorted) : std::ptrdiff_t{-1};
  const std::ptrdiff_t to = std::clamp<std::ptrdiff_t>(from + by, -1, count - 1);
  choices.sorted = to < 0 ? std::nullopt : std::optional(static_cast<size_t>(to));
}

std::ptrdiff_t StepOf(KeyCode code, size_t page) {
  constexpr std::ptrdiff_t kToTheEnd = 1'000'000'000;
  switch (code) {
    case KeyCode::kUp:
      return -1;
    case KeyCode::kDown:
      return 1;
    case KeyCode::kPageUp:
      return -static_cast<std::ptrdiff_t>(page);
    case KeyCode::kPageDown:
      return static_cast<std::ptrdiff_t>(page);
    case KeyCode::kHome:
      return -kToTheEnd;
    case KeyCode::kEnd:
      return kToTheEnd;
    default:
      return 0;
  }
}

void OnFilterKey(const Key& key, TopState& state) {
  if (key.code == KeyCode::kEnter) state.types_filter = false;
  if (key.code == KeyCode::kEscape) {
    state.types_filter = false;
    state.filter.clear();
  }
  if (key.code == KeyCode::kBackspace && !state.filter.empty()) state.filter.pop_back();
  if (key.code == KeyCode::kCharacter) state.filter += key.character;
}

void Close(TopState& state) {
  if (state.view == TopView::kExplanation) state.view = TopView::kWorkloads;
  if (state.view == TopView::kNode) state.view = TopView::kFleet;
}

void OpenRow(const TextTable& table, TopState& state) {
  if (table.rows.empty() || state.view == TopView::kNode) return;
  state.opened = table.rows[SelectedRow(table, ChoicesOf(state).selected)].key;
  state.scrolled = 0;
  state.gpus.selected.clear();
  state.view = state.view == TopView::kFleet ? TopView::kNode : TopView::kExplanation;
}

void OnTableKey(const Key& key, const TextTable& table, size_t page, TopState& state) {
  TopState::Table& choices = ChoicesOf(state);
  if (const std::ptrdiff_t step = StepOf(key.code, page); step != 0) {
    MoveRow(table, step, choices);
  }
  if (key.code == KeyCode::kLeft) MoveSorting(table, -1, choices);
  if (key.code == KeyCode::kRight) MoveSorting(table, 1, choices);
  if (key.character == 'r') choices.reversed = !choices.reversed;
  if (key.character == '/') state.types_filter = state.view != TopView::kNode;
  if (key.code == KeyCode::kEnter) OpenRow(table, state);
}

}  // namespace

std::string TopPath(const TopState& state) {
  switch (state.view) {
    case TopView::kFleet:
      return "/api/v1/fleet";
    case TopView::kExplanation:
      return absl::StrCat("/api/v1/workloads/", state.opened);
    case TopView::kNode:
      return absl::StrCat("/api/v1/fleet/", UrlEscaped(state.opened));
    case TopView::kWorkloads:
      break;
  }
  return "/api/v1/workloads";
}

void SetTopDocument(const TopState& state, WebDocument document, TopDocuments& documents) {
  WebDocument& place = state.view == TopView::kWorkloads ? documents.workloads
                       : state.view == TopView::kFleet   ? documents.fleet
                                                         : documents.opened;
  place = std::move(document);
}

void OnTopKey(const Key& key, const TopDocuments& documents, const TopSize& size, TopState& state) {
  if (state.types_filter) {
    OnFilterKey(key, state);
    return;
  }
  const size_t page = PageRows(state.view, size);
  if (key.character == 'q') state.ended = true;
  if (key.code == KeyCode::kEscape || key.code == KeyCode::kBackspace) {
    Close(state);
  } else if (key.code == KeyCode::kTab) {
    const bool is_of_fleet = state.view == TopView::kFleet || state.view == TopView::kNode;
    state.view = is_of_fleet ? TopView::kWorkloads : TopView::kFleet;
  } else if (HasTable(state.view)) {
    OnTableKey(key, TableOf(documents, state, {}), page, state);
  } else {
    const size_t lines = ExplanationLines(documents.opened, size.width).size();
    const auto last = static_cast<std::ptrdiff_t>(lines > page ? lines - page : 0);
    const auto to = static_cast<std::ptrdiff_t>(state.scrolled) + StepOf(key.code, page);
    state.scrolled = static_cast<size_t>(std::clamp<std::ptrdiff_t>(to, 0, last));
  }
}

std::vector<std::string> TopLines(const TopDocuments& documents, const TopState& state,
                                  const TopSize& size, const TextStyle& style,
                                  absl::TimeZone zone) {
  const std::string banner = Banner(documents);
  const auto fitted = [&size, &style](absl::string_view line) {
    return FittedLeft(line, size.width, style.ascii);
  };
  std::vector<std::string> lines = {
      fitted(Title(documents.status, zone)),
      banner.empty() ? fitted(Counts(documents)) : Toned(fitted(banner), Tone::kError, style),
      Toned(fitted(Place(documents, state, zone)), Tone::kHeading, style)};
  for (std::string& line : BodyLines(documents, state, size, style)) {
    lines.push_back(std::move(line));
  }
  const size_t above = size.height > kFootLines ? size.height - kFootLines : 0;
  lines.resize(above);
  if (size.height > 0) lines.push_back(fitted(Foot(state)));
  return lines;
}

std::vector<std::string> TopPage(const TopDocuments& documents, size_t width,
                                 const TextStyle& style, absl::TimeZone zone) {
  std::vector<std::string> lines = {Title(documents.status, zone), Counts(documents)};
  if (const std::string banner = Banner(documents); !banner.empty()) {
    lines.push_back(Toned(banner, Tone::kWarning, style));
  }
  for (const TopView view : {TopView::kWorkloads, TopView::kFleet}) {
    TopState state;
    state.view = view;
    const TextTable table = TableOf(documents, state, style);
    lines.emplace_back();
    if (view == TopView::kFleet) lines.push_back(FleetSummary(documents.fleet));
    if (table.rows.empty()) {
      for (std::string& line : Empty(documents, state)) lines.push_back(std::move(line));
      continue;
    }
    for (std::string& line : TableLines(table, {.width = width}, style)) {
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

}  // namespace gpuscaler
