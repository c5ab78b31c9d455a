#include "cost/range_answer.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/printable_text.h"
#include "nlohmann/json.hpp"

namespace gpuscaler {
namespace {

using RangeJson = nlohmann::json;

// Times of query_range in seconds: up to the year 9999.
constexpr double kLatest = 253'402'300'799;

// More than 16 GPUs count in 10 years, and small enough for sums in microseconds.
constexpr double kLargestCounter = 1e10;

// Takes the parser's events, and keeps nothing but series. Returns false from an event to stop.
class MatrixReader : public nlohmann::json_sax<RangeJson> {
 public:
  absl::StatusOr<std::vector<RangeSeries>> Result() && {
    if (!fault_.ok()) return fault_;
    if (!error_.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Prometheus answers an error: ", PrintableText(error_)));
    }
    if (status_ != "success" || type_ != "matrix") return Fault("is no matrix of query_range");
    return std::move(series_);
  }

  bool null() override { return Scalar(); }
  bool boolean(bool) override { return Scalar(); }
  bool number_integer(number_integer_t value) override {
    return Number(static_cast<double>(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return Number(value); }
  bool binary(binary_t&) override { return Scalar(); }
  bool string(string_t& text) override;
  bool key(string_t& text) override {
    key_ = std::move(text);
    return true;
  }
  bool start_object(size_t) override { return Open(/*is_array=*/false); }
  bool start_array(size_t) override { return Open(/*is_array=*/true); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return Fail("is no JSON");
  }

 private:
  enum class Place { kNone, kAnswer, kData, kResult, kSeries, kLabels, kPoints, kPoint, kOther };

  static absl::Status Fault(absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat("the answer ", what));
  }
  bool Fail(absl::string_view what) {
    if (fault_.ok()) fault_ = Fault(what);
    return false;
  }

  Place place() const { return places_.empty() ? Place::kNone : places_.back(); }
  Place PlaceWithin(bool is_array) const;
  bool Open(bool is_array);
  bool Close();
  bool Scalar();
  bool Number(double value);
  bool AddPoint(absl::string_view text);

  std::vector<Place> places_;
  std::string key_;
  std::string status_;
  std::string type_;
  std::string error_;
  std::optional<absl::Time> point_at_;
  bool has_value_ = false;
  std::vector<RangeSeries> series_;
  absl::Status fault_;
};

MatrixReader::Place MatrixReader::PlaceWithin(bool is_array) const {
  switch (place()) {
    case Place::kNone:
      return is_array ? Place::kOther : Place::kAnswer;
    case Place::kAnswer:
      return !is_array && key_ == "data" ? Place::kData : Place::kOther;
    case Place::kData:
      return is_array && key_ == "result" ? Place::kResult : Place::kOther;
    case Place::kResult:
      return is_array ? Place::kOther : Place::kSeries;
    case Place::kSeries:
      if (!is_array && key_ == "metric") return Place::kLabels;
      return is_array && key_ == "values" ? Place::kPoints : Place::kOther;
    case Place::kPoints:
      return is_array ? Place::kPoint : Place::kOther;
    case Place::kLabels:
    case Place::kPoint:
    case Place::kOther:
      break;
  }
  return Place::kOther;
}

bool MatrixReader::Open(bool is_array) {
  const Place opened = PlaceWithin(is_array);
  const bool is_expected = opened != Place::kOther || place() == Place::kAnswer ||
                           place() == Place::kData || place() == Place::kSeries ||
                           place() == Place::kOther;
  if (!is_expected) return Fail("has another form than a matrix");
  if (opened == Place::kSeries) series_.emplace_back();
  if (opened == Place::kPoint) {
    point_at_.reset();
    has_value_ = false;
  }
  places_.push_back(opened);
  return true;
}

bool MatrixReader::Close() {
  const Place closed = place();
  places_.pop_back();
  if (closed == Place::kPoint && !has_value_) return Fail("has a point without a value");
  return true;
}

bool MatrixReader::Scalar() {
  const bool is_expected = place() == Place::kAnswer || place() == Place::kData ||
                           place() == Place::kSeries || place() == Place::kOther;
  return is_expected || Fail("has another form than a matrix");
}

bool MatrixReader::Number(double value) {
  if (place() != Place::kPoint) return Scalar();
  if (point_at_ || !(value >= 0 && value <= kLatest)) return Fail("has a point with a wrong time");
  constexpr double kMillis = 1000;
  point_at_ = absl::FromUnixMillis(std::llround(value * kMillis));
  return true;
}

bool MatrixReader::string(string_t& text) {
  if (place() == Place::kPoint) return AddPoint(text);
  if (place() == Place::kLabels) {
    series_.back().labels.insert_or_assign(key_, std::move(text));
    return true;
  }
  if (place() == Place::kAnswer && key_ == "status") status_ = text;
  if (place() == Place::kAnswer && key_ == "error") error_ = text;
  if (place() == Place::kData && key_ == "resultType") type_ = text;
  return Scalar();
}

bool MatrixReader::AddPoint(absl::string_view text) {
  if (!point_at_ || has_value_) return Fail("has a point of another form than [time, value]");
  has_value_ = true;
  double value = 0;
  if (!absl::SimpleAtod(text, &value)) return Fail("has a value that is no number");
  if (std::isnan(value)) return true;
  if (!(value >= 0 && value <= kLargestCounter)) {
    return Fail("has a counter that no node can have");
  }
  std::vector<RangePoint>& points = series_.back().points;
  if (!points.empty() && points.back().at >= *point_at_) return Fail("has points out of order");
  points.push_back({.at = *point_at_, .value = value});
  return true;
}

}  // namespace

absl::StatusOr<std::vector<RangeSeries>> ParseRangeAnswer(absl::string_view json) {
  MatrixReader reader;
  RangeJson::sax_parse(json.begin(), json.end(), &reader);
  return std::move(reader).Result();
}

}  // namespace gpuscaler
