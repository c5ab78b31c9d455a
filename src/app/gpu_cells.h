// A GPU as text and JSON: what `gpus` prints of this node's and of a fleet's. Unknown is null,
// blank or "-", and never 0.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/node_snapshot.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {

using OrderedJson = nlohmann::ordered_json;

// "2026-01-01T00:00:00.250Z".
std::string UtcText(absl::Time time);

std::string OrDash(const std::string& text);

// "12.5"; "" where there is none.
std::string TextOrBlank(const std::optional<double>& number);

std::string MibText(const std::optional<int64_t>& bytes);

// "shop/web-0/main", of several with their shares: "shop/web-0/main=0.75;shop/web-1/main=0.25".
std::string HoldersText(const NodeSnapshot& snapshot, const GpuSample& gpu);

// A number of a sample: its column in CSV and JSON, and what it is.
struct GpuColumn {
  const char* name;
  std::optional<double> (*read)(const GpuSample&);
};
const std::vector<GpuColumn>& GpuColumns();

// Null for an empty one.
OrderedJson TextJson(const std::string& text);
OrderedJson NumberJson(const std::optional<double>& number);
OrderedJson GpuJson(const NodeSnapshot& snapshot, const GpuSample& gpu);

// Returns a line for each row: columns as wide as their widest cell, two blanks apart.
std::vector<std::string> Aligned(const std::vector<std::vector<std::string>>& rows);

// Whatever bytes a driver or a file put into a name: the text is valid UTF-8. With its line's end.
std::string JsonText(const OrderedJson& json, bool one_line);

}  // namespace gpuscaler
