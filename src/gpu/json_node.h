// A node of a JSON document. Its errors name line and path: "3: gpus[0].power_wats: unknown key".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {

// A JSON value and its path. Cheap to copy. Text and parsed value must outlive it.
class JsonNode {
 public:
  using Json = nlohmann::json;

  JsonNode(absl::string_view text, const Json& value) : JsonNode(text, value, "") {}

  const Json& value() const { return *value_; }

  // Returns nullptr if the object has no such key.
  const Json* Find(absl::string_view key) const;
  // Return the object's member and the array's element, which must exist.
  JsonNode Member(absl::string_view key) const;
  JsonNode Element(size_t i) const;

  // Returns INVALID_ARGUMENT with line, path and problem.
  absl::Status Fault(absl::string_view problem) const;
  // Returns the same with the value in front: "101 is not a number from 0 to 100".
  absl::Status ValueFault(absl::string_view problem) const;

  // Returns an error unless the value is an object with known keys only.
  absl::Status CheckObject(const std::vector<absl::string_view>& known) const;
  // Return INVALID_ARGUMENT, as ValueFault() does, for a value of another type or out of range.
  absl::Status CheckArray() const;
  absl::StatusOr<std::string> Text() const;
  absl::StatusOr<int64_t> Integer(int64_t lowest) const;
  absl::StatusOr<double> Number(double lowest, double highest) const;

 private:
  JsonNode(absl::string_view text, const Json& value, std::string path)
      : text_(text), value_(&value), path_(std::move(path)) {}
  std::string MemberPath(absl::string_view key) const;

  absl::string_view text_;
  const Json* value_;
  std::string path_;  // empty: the whole document
};

}  // namespace gpuscaler
