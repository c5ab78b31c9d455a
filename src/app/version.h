// The version of a program and the commit that it was built from, for --version and `version`.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "app/command.h"

namespace gpuscaler {

// An empty field is unknown: the sources had neither .git nor GPUSCALER_COMMIT.
struct BuildCommit {
  absl::string_view hash;  // the first 12 digits
  absl::string_view date;  // in UTC: "2026-11-28"
};

// Defined in the build folder, by cmake/write_commit.cmake. Uncommitted changes do not show.
BuildCommit CommitOfBuild();

// Returns "keda-gpu-scaler 0.1.0 (commit 1a2b3c4d5e6f, 2026-11-28)", without what is unknown.
std::string VersionText(absl::string_view program, const BuildCommit& commit = CommitOfBuild());

Command VersionCommand(const std::string& program);

}  // namespace gpuscaler
