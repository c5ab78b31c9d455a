// Faults that a simulated engine can have.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace gpuscaler {

enum class EngineFault {
  kNone,
  kHang,      // no reply on any path; connections are accepted and kept
  kCrash,     // the process exits with its requests
  kBigPage,   // /metrics of 10 MiB
  kGarbage,   // /metrics of bytes that are not text
  kEndless,   // /metrics never ends
  kRedirect,  // /metrics redirects to a cloud's metadata service
  kError,     // 500 on every path
};

std::vector<std::string> EngineFaultNames();

// Returns kNone for an unknown name.
EngineFault EngineFaultNamed(absl::string_view name);

// Returns the body of a faulty finite page, or "" for other faults.
std::string FaultyPage(EngineFault fault);

// Returns a part of the endless page.
absl::string_view EndlessPart();

}  // namespace gpuscaler
