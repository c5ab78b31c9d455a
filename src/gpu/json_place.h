// A place in a JSON text. Its errors name line and path: "3: gpus[0].power_wats: unknown key".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {

// A value and its path. Cheap to copy. Text and parsed value must outlive it.
class JsonPlace {
 public:
  using Json = nlohmann::json;

  JsonPlace(absl::string_view text, const Json& value) : JsonPlace(text, value, "") {}

  const Json& value() const { return *value_; }

  // Returns nullptr if the object has no such key.
  const Json* Find(absl::string_view key) const;
  // Return the object's member and the array's element, which must exist.
  JsonPlace Member(absl::string_view key) const;
  JsonPlace Element(size_t i) const;

  // Returns INVALID_ARGUMENT with line, path and problem.
  absl::Status Fault(absl::string_view problem) const;
  // Returns the same with the value in front: "101 is not a number from 0 to 100".
  absl::Status ValueFault(absl::string_view problem) const;

  // Returns an error unless the value is an object with known keys only.
  absl::Status CheckObject(const std::vector<absl::string_view>& known) const;
  absl::Status CheckArray() const;
  absl::StatusOr<std::string> Text() const;
  absl::StatusOr<int64_t> Whole(int64_t lowest) const;
  absl::StatusOr<double> Number(double lowest, double highest) const;

 private:
  JsonPlace(absl::string_view text, const Json& value, std::string path)
      : text_(text), value_(&value), path_(std::move(path)) {}
  std::string MemberPath(absl::string_view key) const;

  absl::string_view text_;
  const Json* value_;
  std::string path_;  // "" means the whole text
};

}  // namespace gpuscaler
