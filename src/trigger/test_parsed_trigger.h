// Parses metadata with the built-in profiles, for tests.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "trigger/profile.h"
#include "trigger/trigger.h"

namespace gpuscaler {

// The text for a failed test.
inline std::string Text(const Metadata& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata) absl::StrAppend(&text, key, "=", value, " ");
  return text;
}

inline Trigger Parsed(const Metadata& metadata) {
  const auto trigger = ParseTrigger(metadata, BuiltInProfiles());
  EXPECT_TRUE(trigger.ok()) << Text(metadata) << trigger.status();
  return trigger.ok() ? *trigger : Trigger();
}

inline std::string Refused(const Metadata& metadata) {
  const absl::Status status = ParseTrigger(metadata, BuiltInProfiles()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << Text(metadata) << status;
  return std::string(status.message());
}

}  // namespace gpuscaler
