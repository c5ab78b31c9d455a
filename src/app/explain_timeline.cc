#include "app/explain_timeline.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "app/instant.h"
#include "app/sparkline.h"
#include "app/text_width.h"
#include "base/duration_text.h"
#include "base/number_text.h"

namespace gpuscaler {
namespace {

constexpr size_t kNameColumns = 12;
constexpr size_t kTimeColumns = 60;  // width of the time axis
constexpr size_t kMostEvents = 40;

struct Series {
  absl::string_view field;
  absl::string_view name;
  bool is_left_out_at_zero = false;
};
constexpr std::array<Series, 9> kSeries = {{{"value", "value"},
                                            {"target", "target"},
                                            {"replicas", "replicas"},
                                            {"starting", "starting", true},
                                            {"unreadable", "unreadable", true},
                                            {"terminating", "terminating", true},
                                            {"demand", "demand"},
                                            {"capacity", "capacity"},
                                            {"limit", "batch limit"}}};

struct Extent {
  double least;
  double most;
  std::optional<double> last;  // the newest point
};

std::optional<Extent> ExtentOf(const std::vector<SparklinePoint>& points) {
  std::optional<Extent> extent;
  for (const SparklinePoint& point : points) {
    if (!point) continue;
    if (!extent) extent = {.least = *point, .most = *point, .last = std::nullopt};
    extent->least = std::min(extent->least, *point);
    extent->most = std::max(extent->most, *point);
  }
  if (extent) extent->last = points.back();
  return extent;
}

// Returns "always 80", or "1 to 4, last 3".
std::string ExtentText(const Extent& extent) {
  if (extent.least == extent.most && extent.last) {
    return absl::StrCat("always ", NumberText(extent.most));
  }
  return absl::StrCat(NumberText(extent.least), " to ", NumberText(extent.most), ", last ",
                      extent.last ? NumberText(*extent.last) : "unknown");
}

std::string ClockText(absl::Time time, absl::TimeZone zone) {
  return absl::FormatTime("%H:%M:%S", time, zone);
}

// Returns the times of both ends and of the middle, below the glyphs that they belong to, as far as
// there is room.
std::string AxisLine(absl::Time from, absl::Time to, size_t columns, absl::TimeZone zone) {
  const std::string first = ClockText(from, zone);
  const std::string last = ClockText(to, zone);
  const std::string indent(kNameColumns, ' ');
  if (columns < 4 * first.size()) return absl::StrCat(indent, first, " ", last);
  const std::string half =
      absl::StrCat(FittedLeft(first, columns / 2, true), ClockText(from + (to - from) / 2, zone));
  return absl::StrCat(indent, half, FittedRight(last, columns - half.size(), true));
}

struct Event {
  absl::Time at;
  std::string line;
};

std::vector<Event> EventsOf(const WebDocument& history, absl::TimeZone zone) {
  std::vector<Event> events;
  const WebDocument& marks = FieldOf(history, "marks");
  for (size_t i = 0; marks.is_array() && i < marks.size(); ++i) {
    const std::optional<absl::Time> at = TimeOf(marks[i], "at");
    // Gaps are listed with their ends below.
    if (!at || TextOf(marks[i], "kind") == "gap") continue;
    events.push_back({*at, absl::StrCat(ClockText(*at, zone), "  ", TextOf(marks[i], "kind"), ": ",
                                        TextOf(marks[i], "text"))});
  }
  const WebDocument& gaps = FieldOf(history, "gaps");
  for (size_t i = 0; gaps.is_array() && i < gaps.size(); ++i) {
    const std::optional<absl::Time> from = TimeOf(gaps[i], "from");
    const std::optional<absl::Time> to = TimeOf(gaps[i], "to");
    if (!from || !to) continue;
    events.push_back({*from, absl::StrCat(ClockText(*from, zone), "  gap of ", AgeText(*to - *from),
                                          ": ", TextOf(gaps[i], "because"))});
  }
  std::ranges::stable_sort(events, {}, &Event::at);
  return events;
}

void AppendEvents(const WebDocument& history, absl::TimeZone zone,
                  std::vector<std::string>& lines) {
  const std::vector<Event> events = EventsOf(history, zone);
  const size_t omitted = events.size() > kMostEvents ? events.size() - kMostEvents : 0;
  if (!events.empty()) lines.emplace_back();
  if (omitted > 0) lines.push_back(absl::StrCat("... ", omitted, " before"));
  for (size_t i = omitted; i < events.size(); ++i) lines.push_back(events[i].line);
}

void AppendExplanations(const WebDocument& history, absl::TimeZone zone,
                        std::vector<std::string>& lines) {
  const std::vector<std::optional<double>> kept = NumbersOf(history, "explanations");
  if (kept.empty() || !kept.front() || !kept.back()) return;
  const auto text = [zone](double seconds) {
    return ClockText(absl::UnixEpoch() + absl::Seconds(seconds), zone);
  };
  lines.emplace_back();
  lines.push_back(absl::StrCat(CountText(static_cast<int64_t>(kept.size()), "explanation"),
                               " kept, from ", text(*kept.front()), " to ", text(*kept.back()),
                               ": show another one with --at ", text(*kept.front())));
}

}  // namespace

std::vector<std::string> TimelineLines(const WebDocument& history, bool ascii,
                                       absl::TimeZone zone) {
  const std::optional<absl::Time> from = TimeOf(history, "from");
  const std::optional<absl::Time> to = TimeOf(history, "to");
  std::vector<std::string> lines = {
      absl::StrCat(TextOf(history, "namespace"), "/", TextOf(history, "name"), "  ",
                   TextOf(history, "trigger"), "  on ", TextOf(history, "instance"))};
  if (from && to) {
    lines.push_back(absl::StrCat(InstantText(*from, zone), " to ", InstantText(*to, zone),
                                 ", a point each ", NumberOrDash(NumberOf(history, "step_seconds")),
                                 " s"));
  }
  const std::optional<absl::Time> since = TimeOf(history, "since");
  if (since && from && *since > *from) {
    lines.push_back(absl::StrCat("recorded since ", InstantText(*since, zone)));
  }
  lines.emplace_back();
  size_t columns = 0;
  for (const Series& series : kSeries) {
    const std::vector<SparklinePoint> points = NumbersOf(history, series.field);
    const std::optional<Extent> extent = ExtentOf(points);
    if (!extent || (series.is_left_out_at_zero && extent->most == 0)) continue;
    columns = std::min(points.size(), kTimeColumns);
    lines.push_back(absl::StrCat(FittedLeft(series.name, kNameColumns, ascii),
                                 Sparkline(points, columns, ascii), "  ", ExtentText(*extent)));
  }
  if (columns == 0) {
    lines.emplace_back("nothing was recorded in this period");
  } else if (from && to) {
    lines.push_back(AxisLine(*from, *to, columns, zone));
  }
  AppendEvents(history, zone, lines);
  AppendExplanations(history, zone, lines);
  return lines;
}

}  // namespace gpuscaler
