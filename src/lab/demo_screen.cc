#include "lab/demo_screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace gpuscaler {
namespace {

constexpr absl::Duration kRedraw = absl::Milliseconds(100);  // real time
constexpr absl::Duration kPlainInterval = absl::Minutes(2);  // simulated time
constexpr absl::string_view kHideCursor = "\x1b[?25l";
constexpr absl::string_view kShowCursor = "\x1b[?25h";

absl::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The chart needs a terminal with cursor movement.
bool CanDraw() {
  return isatty(STDOUT_FILENO) != 0 && Variable("TERM") != "dumb" && !Variable("TERM").empty();
}

ChartStyle Style() {
  winsize size{};
  ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  // One column less: some terminals wrap a full line.
  return {.width = size.ws_col > 20 ? size.ws_col - 1 : 79, .color = Variable("NO_COLOR").empty()};
}

}  // namespace

DemoScreen::DemoScreen(DemoSetting setting) : setting_(std::move(setting)), terminal_(CanDraw()) {
  if (terminal_) std::cout << kHideCursor;
}

DemoScreen::~DemoScreen() {
  if (terminal_) std::cout << kShowCursor << std::flush;
}

void DemoScreen::Show(const DemoFrame& frame) {
  const bool changed = frames_.empty() || frame.desired != frames_.back().desired ||
                       frame.ready != frames_.back().ready;
  frames_.push_back(frame);
  if (terminal_) {
    if (clock_.Now() - drawn_at_ >= kRedraw) Draw();
  } else if (changed || frame.passed - printed_at_ >= kPlainInterval) {
    printed_at_ = frame.passed;
    std::cout << PlainLine(setting_, frame) << std::endl;
  }
}

void DemoScreen::Finish() {
  if (terminal_ && !frames_.empty()) Draw();
}

void DemoScreen::Draw() {
  drawn_at_ = clock_.Now();
  std::string text = lines_ == 0 ? "" : absl::StrCat("\x1b[", lines_, "A");
  const auto lines = ChartLines(setting_, frames_, Style());
  for (const std::string& line : lines) absl::StrAppend(&text, "\r", line, "\x1b[K\n");
  lines_ = lines.size();
  std::cout << text << std::flush;
}

}  // namespace gpuscaler
