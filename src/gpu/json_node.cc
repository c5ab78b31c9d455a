#include "gpu/json_node.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/nearest.h"
#include "base/number_text.h"
#include "gpu/json_line.h"

namespace gpuscaler {
namespace {

std::string Shown(const JsonNode::Json& value) {
  const std::string text = value.dump(-1, ' ', true, JsonNode::Json::error_handler_t::replace);
  return text.size() <= 40 ? text : absl::StrCat(text.substr(0, 37), "...");
}

}  // namespace

const JsonNode::Json* JsonNode::Find(absl::string_view key) const {
  const auto found = value_->find(std::string(key));
  return found == value_->end() ? nullptr : &*found;
}

JsonNode JsonNode::Member(absl::string_view key) const {
  return JsonNode(text_, value_->at(std::string(key)), MemberPath(key));
}

JsonNode JsonNode::Element(size_t i) const {
  return JsonNode(text_, value_->at(i), absl::StrCat(path_, "[", i, "]"));
}

std::string JsonNode::MemberPath(absl::string_view key) const {
  return path_.empty() ? std::string(key) : absl::StrCat(path_, ".", key);
}

absl::Status JsonNode::Fault(absl::string_view problem) const {
  return absl::InvalidArgumentError(
      absl::StrCat(JsonLine(text_, path_), ": ", path_, path_.empty() ? "" : ": ", problem));
}

absl::Status JsonNode::ValueFault(absl::string_view problem) const {
  return Fault(absl::StrCat(Shown(*value_), " ", problem));
}

absl::Status JsonNode::CheckObject(const std::vector<absl::string_view>& known) const {
  if (!value_->is_object()) return ValueFault("is not an object");
  for (const auto& [key, value] : value_->items()) {
    if (std::ranges::find(known, absl::string_view(key)) != known.end()) continue;
    return Member(key).Fault(absl::StrCat("unknown key", DidYouMean(key, known)));
  }
  return absl::OkStatus();
}

absl::Status JsonNode::CheckArray() const {
  return value_->is_array() ? absl::OkStatus() : ValueFault("is not an array");
}

absl::StatusOr<std::string> JsonNode::Text() const {
  if (!value_->is_string()) return ValueFault("is not a string");
  return value_->get<std::string>();
}

absl::StatusOr<int64_t> JsonNode::Integer(int64_t lowest) const {
  const bool fits = value_->is_number_integer() &&
                    (!value_->is_number_unsigned() ||
                     value_->get<uint64_t>() <= std::numeric_limits<int64_t>::max());
  if (fits && value_->get<int64_t>() >= lowest) return value_->get<int64_t>();
  return ValueFault(absl::StrCat("is not a whole number from ", lowest, " up"));
}

absl::StatusOr<double> JsonNode::Number(double lowest, double highest) const {
  if (value_->is_number()) {
    const double number = value_->get<double>();
    if (number >= lowest && number <= highest) return number;
  }
  const bool is_open = highest == std::numeric_limits<double>::max();
  return ValueFault(absl::StrCat("is not a number from ", NumberText(lowest),
                                 is_open ? " up" : " to ", is_open ? "" : NumberText(highest)));
}

}  // namespace gpuscaler
