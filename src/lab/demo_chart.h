// Text output of the demo: a chart for terminals and plain lines for everything else. Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "lab/demo_frame.h"

namespace gpuscaler {

struct ChartStyle {
  int width = 80;  // columns; the longest possible line
  bool color = true;
};

// Returns the same number of lines each time, so that a chart can be drawn over the last one.
// `frames` are oldest first.
std::vector<std::string> ChartLines(const DemoSetting& setting,
                                    const std::vector<DemoFrame>& frames, const ChartStyle& style);

std::string PlainLine(const DemoSetting& setting, const DemoFrame& frame);

}  // namespace gpuscaler
