// What an engine can do wrong, on purpose.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

enum class EngineFault {
  kNone,
  kHang,      // no answer on any path; connections are taken and kept
  kCrash,     // the process ends, with what it holds
  kBigPage,   // /metrics of 10 MiB
  kGarbage,   // /metrics of bytes that are no text
  kEndless,   // /metrics never ends
  kRedirect,  // /metrics is said to be at a cloud's metadata service
  kError,     // 500 on every path
};

std::vector<std::string> EngineFaultNames();

// kNone for an unknown name.
EngineFault EngineFaultNamed(absl::string_view name);

// The body of a faulty page that has an end; empty of other faults.
std::string FaultyPage(EngineFault fault);

// A part of the page that has none.
absl::string_view EndlessPart();

}  // namespace gpuscaler
