// The demo as text: a chart for terminals, a line for everything else. Pure.
#pragma once

#include <string>
#include <vector>

#include "demo/demo_frame.h"

namespace gpuscaler {

struct ChartStyle {
  int width = 80;  // columns; no line is longer
  bool color = true;
};

// Always the same number of lines, so that it can be drawn over itself. `frames` oldest first.
std::vector<std::string> ChartLines(const DemoSetting& setting,
                                    const std::vector<DemoFrame>& frames, const ChartStyle& style);

std::string PlainLine(const DemoSetting& setting, const DemoFrame& frame);

}  // namespace gpuscaler
