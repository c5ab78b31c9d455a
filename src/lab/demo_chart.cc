#include "lab/demo_chart.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/duration_text.h"
#include "base/number_text.h"

namespace gpuscaler {
namespace {

constexpr int kLabelWidth = 10;
constexpr int kMaxRows = 8;    // in the replica graph
constexpr int kNoteLines = 3;  // the longest note needs this many at 60 columns
constexpr const char* kLevels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

constexpr const char* kBlue = "34";
constexpr const char* kYellow = "33";
constexpr const char* kGreen = "32";

// Text and its width in columns: continuation bytes of UTF-8 and escape sequences have none.
class Line {
 public:
  explicit Line(const ChartStyle& style) : style_(style) {}

  Line& Add(absl::string_view text, const char* color = nullptr) {
    for (size_t i = 0; i < text.size();) {
      size_t end = i + 1;
      while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
      AddGlyph(text.substr(i, end - i), color);
      i = end;
    }
    return *this;
  }

  std::string Take() {
    SetColor(nullptr);
    return std::move(text_);
  }

 private:
  void AddGlyph(absl::string_view glyph, const char* color) {
    if (columns_ >= style_.width) return;
    SetColor(glyph == " " ? nullptr : color);
    absl::StrAppend(&text_, glyph);
    ++columns_;
  }

  void SetColor(const char* color) {
    if (!style_.color || color == color_) return;
    absl::StrAppend(&text_, "\x1b[", color == nullptr ? "0" : color, "m");
    color_ = color;
  }

  const ChartStyle style_;
  std::string text_;
  int columns_ = 0;
  const char* color_ = nullptr;
};

std::string Label(absl::string_view text) { return absl::StrFormat("%-*s", kLabelWidth, text); }

absl::string_view Level(double part) {
  const auto level = static_cast<int>(std::ceil(8 * std::clamp(part, 0.0, 1.0)));
  return kLevels[level];
}

// Returns the last frame of each column's interval. Null: not reached yet.
std::vector<const DemoFrame*> Columns(const DemoSetting& setting,
                                      const std::vector<DemoFrame>& frames, int columns) {
  std::vector<const DemoFrame*> shown(static_cast<size_t>(columns), nullptr);
  const absl::Duration span = std::max(setting.expected, frames.back().passed);
  for (const DemoFrame& frame : frames) {
    const double part = absl::FDivDuration(frame.passed, span);
    const auto column = static_cast<size_t>(part * columns);
    shown[std::min(column, shown.size() - 1)] = &frame;
  }
  for (size_t i = 1; i < shown.size(); ++i) {  // an interval without a frame of its own
    if (shown[i] == nullptr && i + 1 < shown.size() && shown[i + 1] != nullptr) {
      shown[i] = shown[i - 1];
    }
  }
  return shown;
}

std::string Sparkline(const ChartStyle& style, absl::string_view label, const char* color,
                      const std::vector<const DemoFrame*>& columns, const auto& read) {
  double highest = 0;
  for (const DemoFrame* frame : columns) {
    if (frame != nullptr) highest = std::max(highest, read(*frame));
  }
  Line line(style);
  line.Add(Label(label));
  for (const DemoFrame* frame : columns) {
    line.Add(frame == nullptr || highest == 0 ? " " : Level(read(*frame) / highest), color);
  }
  return line.Take();
}

// The first row is the top one. Ready replicas are solid, starting ones shaded.
std::vector<std::string> ReplicaGraph(const DemoSetting& setting, const ChartStyle& style,
                                      const std::vector<const DemoFrame*>& columns) {
  const int rows = std::min(setting.max_replicas, kMaxRows);
  std::vector<std::string> lines;
  for (int row = rows; row > 0; --row) {
    const int replicas = (row * setting.max_replicas + rows - 1) / rows;
    Line line(style);
    line.Add(absl::StrFormat("%*d ", kLabelWidth - 1, replicas));
    for (const DemoFrame* frame : columns) {
      const bool ready = frame != nullptr && frame->ready >= replicas;
      const bool desired = frame != nullptr && frame->desired >= replicas;
      line.Add(ready ? "█" : (desired ? "░" : " "), ready ? kGreen : kYellow);
    }
    lines.push_back(line.Take());
  }
  return lines;
}

std::string GpuLine(const ChartStyle& style, absl::string_view label,
                    const std::vector<double>& percents) {
  Line line(style);
  line.Add(Label(label));
  for (const double percent : percents) line.Add(Level(percent / 100), kBlue);
  line.Add("  ").Add(absl::StrJoin(percents, " ", [](std::string* out, double percent) {
    absl::StrAppendFormat(out, "%3.0f", percent);
  }));
  return line.Add(" %").Take();
}

std::string ValueText(const DemoSetting& setting, const DemoFrame& frame) {
  if (!frame.value) return "V unknown";
  return absl::StrCat("V ", NumberText(*frame.value), " ", setting.unit, " of ",
                      NumberText(setting.target), frame.active ? ", active" : ", inactive");
}

std::string RequestsText(const DemoFrame& frame) {
  return absl::StrFormat("%.2f requests/s, %d running, %d waiting", frame.requests_per_second,
                         frame.running, frame.waiting);
}

std::string ReplicaText(const DemoFrame& frame) {
  return absl::StrCat("replicas ", frame.desired, " desired, ", frame.ready, " ready");
}

// Returns whole seconds.
std::string TimeText(absl::Duration passed) {
  return DurationText(absl::Trunc(passed, absl::Seconds(1)));
}

// Returns the text in exactly kNoteLines lines; the last one takes the rest.
std::vector<std::string> Wrapped(absl::string_view text, int width) {
  std::vector<std::string> lines(1);
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    const size_t longer = lines.back().size() + 1 + word.size();
    const bool fits = lines.back().empty() || longer <= static_cast<size_t>(width);
    if (!fits && lines.size() < kNoteLines) lines.emplace_back();
    absl::StrAppend(&lines.back(), lines.back().empty() ? "" : " ", word);
  }
  lines.resize(kNoteLines);
  return lines;
}

}  // namespace

std::vector<std::string> ChartLines(const DemoSetting& setting,
                                    const std::vector<DemoFrame>& frames, const ChartStyle& style) {
  const DemoFrame& now = frames.back();
  const auto columns = Columns(setting, frames, std::max(style.width - kLabelWidth, 1));
  const auto text = [&style](absl::string_view line) { return Line(style).Add(line).Take(); };

  std::vector<std::string> lines;
  lines.push_back(text(
      absl::StrCat(setting.profile, ", ", setting.speed, " x, ", TimeText(now.passed), " passed")));
  lines.push_back(Sparkline(style, "load", kBlue, columns,
                            [](const DemoFrame& frame) { return frame.requests_per_second; }));
  lines.push_back(text(absl::StrCat(Label(""), RequestsText(now))));
  lines.push_back(Sparkline(style, "V", kYellow, columns,
                            [](const DemoFrame& frame) { return frame.value.value_or(0); }));
  lines.push_back(text(absl::StrCat(Label(""), ValueText(setting, now))));
  for (std::string& line : ReplicaGraph(setting, style, columns)) lines.push_back(std::move(line));
  lines.push_back(text(absl::StrCat(Label(""), ReplicaText(now), "  (█ ready, ░ starting)")));
  lines.push_back(GpuLine(style, "GPU use", now.utilization_percent));
  lines.push_back(GpuLine(style, "VRAM", now.memory_percent));
  for (const std::string& line : Wrapped(now.note, style.width)) lines.push_back(text(line));
  return lines;
}

std::string PlainLine(const DemoSetting& setting, const DemoFrame& frame) {
  double busiest = 0;
  for (const double percent : frame.utilization_percent) busiest = std::max(busiest, percent);
  const auto busy =
      std::ranges::count_if(frame.utilization_percent, [](double percent) { return percent > 0; });
  return absl::StrFormat("%7s  %-42s  %s busy, at most %.0f %%  %s  %s", TimeText(frame.passed),
                         RequestsText(frame), CountText(busy, "GPU"), busiest,
                         ValueText(setting, frame), ReplicaText(frame));
}

}  // namespace gpuscaler
