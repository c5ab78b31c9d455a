// The output of `explain`, from the web API's documents. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "app/web_document.h"

namespace gpuscaler {

// A trigger's documents.
struct ExplainReport {
  std::string trigger;
  WebDocument history;      // null: not requested
  WebDocument explanation;  // null: `fault` is why there is none
  absl::Status fault;
};

struct ExplainStyle {
  bool names_trigger = false;    // a ScaledObject with several
  std::optional<absl::Time> at;  // the instant that was requested; empty: now
  bool ascii = false;
  absl::TimeZone zone = absl::UTCTimeZone();
};

// Returns the explanation word for word as `query --explain` prints it. Before it are the trigger,
// the timeline, and the time of an explanation of the past, as far as there are any.
std::string ExplainText(const ExplainReport& report, const ExplainStyle& style);

// Returns an array with the API's documents of each trigger.
std::string ExplainJson(const std::vector<ExplainReport>& reports);

// Returns NOT_FOUND for a ScaledObject, or a trigger of it, that requests no values. The message
// names the nearest ones of `workloads`, the document of /api/v1/workloads. An empty trigger is
// any. Returns `fault`, the server's error, if they do request values.
absl::Status UnknownWorkload(const std::string& name, const std::string& trigger,
                             const WebDocument& workloads, const absl::Status& fault);

}  // namespace gpuscaler
