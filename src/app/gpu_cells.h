// A GPU as text and JSON, in the output of `gpus` for this node and for a fleet. Unknown is null,
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

// Returns "2026-01-01T00:00:00.250Z".
std::string UtcText(absl::Time time);

std::string OrDash(const std::string& text);

// Returns "12.5", or "" if it is unknown.
std::string TextOrBlank(const std::optional<double>& number);

// Returns "13", or "-" if it is unknown.
std::string WholeText(const std::optional<double>& number);

std::string MibText(const std::optional<int64_t>& bytes);

// Returns "1g.10gb" of the MIG instance "NVIDIA H200 MIG 1g.10gb". Returns "" for a whole GPU, and
// if the name has no profile.
std::string MigProfile(const GpuSample& gpu);

// Returns "shop/web-0/main", or with shares if there are several:
// "shop/web-0/main=0.75;shop/web-1/main=0.25".
std::string HoldersText(const NodeSnapshot& snapshot, const GpuSample& gpu);

// Returns null for an empty text.
OrderedJson TextJson(const std::string& text);
OrderedJson NumberJson(const std::optional<double>& number);
OrderedJson GpuJson(const NodeSnapshot& snapshot, const GpuSample& gpu);

// Columns are as wide as their widest cell, two blanks apart.
std::vector<std::string> Aligned(const std::vector<std::vector<std::string>>& rows);

// Returns valid UTF-8 for any bytes in names, with a newline at the end.
std::string JsonText(const OrderedJson& json, bool one_line);

}  // namespace gpuscaler
