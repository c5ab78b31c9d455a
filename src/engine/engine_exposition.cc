#include "engine/engine_exposition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

constexpr double kInvalid = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr absl::string_view kProcessStart = "process_start_time_seconds";  // prometheus_client's

bool IsNumberNamed(absl::string_view wanted, absl::string_view name) {
  return absl::ConsumePrefix(&name, wanted) && (name.empty() || name == "_total");
}

bool IsNamed(const NumberMapping& row, absl::string_view name) {
  return IsNumberNamed(row.name, name);
}

bool IsNamed(const HistogramMapping& row, absl::string_view name) {
  return absl::ConsumePrefix(&name, row.name) && name == "_bucket";
}

double MaxOrInvalid(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? kInvalid : std::max(a, b);
}

// The sum of the series of one histogram of one model.
class BucketSum {
 public:
  void Add(double not_above, double count) {
    Bucket& bucket = BucketOf(not_above);
    bucket.count += count;
    ++bucket.series;
  }

  // Returns a histogram without buckets if the bounds of the series differ or lack +Inf.
  Histogram Sum() const {
    Histogram histogram;
    const bool alike = std::ranges::all_of(buckets_, [&](const Bucket& bucket) {
      return bucket.series == buckets_[0].series && bucket.count >= 0;
    });
    const bool has_all = !buckets_.empty() && std::isinf(buckets_.back().not_above);
    if (!alike || !has_all || buckets_.size() > kMaxBuckets) return histogram;
    for (const Bucket& bucket : buckets_) {
      histogram.buckets.push_back({.not_above = bucket.not_above, .count = bucket.count});
    }
    return histogram;
  }

 private:
  struct Bucket {
    double not_above = 0;
    double count = 0;
    int series = 0;
  };

  // Series list their bounds in order, so the next bucket nearly always follows the last one.
  Bucket& BucketOf(double not_above) {
    if (next_ >= buckets_.size() || buckets_[next_].not_above != not_above) {
      const auto at = std::ranges::lower_bound(buckets_, not_above, {}, &Bucket::not_above);
      next_ = static_cast<size_t>(at - buckets_.begin());
      const bool is_new = at == buckets_.end() || at->not_above != not_above;
      if (is_new && buckets_.size() <= kMaxBuckets) buckets_.insert(at, {.not_above = not_above});
      next_ = std::min(next_, buckets_.size() - 1);  // too many bounds: Sum() returns no buckets
    }
    return buckets_[next_++];
  }

  std::vector<Bucket> buckets_;  // sorted by bound
  size_t next_ = 0;
};

// The values of one model so far, one for each row.
struct ModelSums {
  std::vector<std::optional<double>> numbers;
  std::vector<std::optional<BucketSum>> histograms;
};

// Returns true if the row is the first choice for its field among the rows with a value.
template <typename Row, typename Found>
bool IsFirstChoice(const std::vector<Found>& found, std::span<const Row> rows, size_t index) {
  if (!found[index].has_value()) return false;
  for (size_t other = 0; other < rows.size(); ++other) {
    if (found[other].has_value() && rows[other].into == rows[index].into &&
        rows[other].choice < rows[index].choice) {
      return false;
    }
  }
  return true;
}

class PageSums {
 public:
  PageSums(const EngineExposition& engine, bool histograms)
      : engine_(engine),
        histograms_(histograms ? engine.histograms : decltype(engine.histograms){}) {
    for (const NumberMapping& row : engine.numbers) missing_.insert(ZeroBefore(row));
    for (const HistogramMapping& row : engine.histograms) missing_.insert(ZeroBefore(row));
    missing_.erase("");
  }

  // Returns true if samples of this metric are needed. Called before each run of samples with one
  // name; keeps the rows of that name for Take().
  bool StartMetric(absl::string_view name) {
    number_rows_ = RowsNamed(engine_.numbers, name);
    histogram_rows_ = RowsNamed(histograms_, name);
    std::erase_if(missing_, [&](absl::string_view first) { return IsNumberNamed(first, name); });
    is_empty_ = false;
    if (name == kProcessStart || HasRows()) return true;
    return !named_.has_value() && IsMarked(engine_, name);
  }

  void Take(const ExpositionSample& sample) {
    if (sample.name == kProcessStart) {
      counters_began_ = sample.value;
      return;
    }
    if (!named_.has_value()) named_ = sample.Label(engine_.model_label);
    if (!HasRows()) return;
    if (models_.size() > kMaxModels) return;  // Reading() returns an error
    ModelSums& model = ModelOf(sample);
    for (const size_t i : number_rows_) {
      const NumberMapping& row = engine_.numbers[i];
      if (sample.EscapedLabel(row.label) == row.value) AddTo(model.numbers[i], row, sample.value);
    }
    for (const size_t i : histogram_rows_) AddTo(model.histograms[i], histograms_[i], sample);
  }

  absl::StatusOr<EngineReading> Reading() {
    const bool is_engines = named_.has_value() || (is_empty_ && engine_.may_be_empty);
    if (models_.empty() && is_engines && !missing_.empty()) Model(named_.value_or(""));
    if (models_.size() > kMaxModels) {
      return absl::InvalidArgumentError(
          absl::StrCat("a page with more than ", kMaxModels, " models"));
    }
    if (models_.empty()) {
      return absl::NotFoundError(absl::StrCat(
          "none of the engine's metrics is on the page, such as ", engine_.numbers[0].name));
    }
    EngineReading reading;
    for (const auto& [name, sums] : models_) {
      ModelReading model = ReadingOfModel(sums);
      model.model = name;
      model.counters_began = counters_began_;
      reading.models.push_back(std::move(model));
    }
    return reading;
  }

 private:
  template <typename Row>
  static std::vector<size_t> RowsNamed(std::span<const Row> rows, absl::string_view name) {
    std::vector<size_t> named;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (IsNamed(rows[i], name)) named.push_back(i);
    }
    return named;
  }

  bool HasRows() const { return !number_rows_.empty() || !histogram_rows_.empty(); }

  ModelSums& ModelOf(const ExpositionSample& sample) {
    const absl::string_view escaped = sample.EscapedLabel(engine_.model_label);
    if (model_ == nullptr || escaped != escaped_model_) {
      escaped_model_ = escaped;
      model_ = &Model(Unescaped(escaped));
    }
    return *model_;
  }

  ModelSums& Model(const std::string& name) {
    ModelSums& model = models_[name];
    model.numbers.resize(engine_.numbers.size());
    model.histograms.resize(histograms_.size());
    return model;
  }

  static void AddTo(std::optional<double>& number, const NumberMapping& row, double value) {
    const bool is_ratio = row.into == &ModelReading::kv_cache_usage_ratio;
    const bool is_valid = std::isfinite(value) && value >= 0 && (!is_ratio || value <= 1);
    value = is_valid ? value * row.unit : kInvalid;
    const double before = number.value_or(0);
    number = is_ratio ? MaxOrInvalid(before, value) : before + value;
  }

  static void AddTo(std::optional<BucketSum>& histogram, const HistogramMapping& row,
                    const ExpositionSample& sample) {
    if (!histogram.has_value()) histogram.emplace();
    const std::optional<double> not_above = ParseSampleValue(sample.EscapedLabel("le"));
    const bool is_valid =
        not_above.has_value() && *not_above > -kInfinity && std::isfinite(sample.value);
    histogram->Add(is_valid ? *not_above * row.unit : 0, is_valid ? sample.value : kInvalid);
  }

  ModelReading ReadingOfModel(const ModelSums& sums) const {
    ModelReading model;
    for (size_t i = 0; i < engine_.numbers.size(); ++i) {
      if (!IsFirstChoice(sums.numbers, engine_.numbers, i)) continue;
      std::optional<double>& into = model.*engine_.numbers[i].into;
      into = into.value_or(0) + *sums.numbers[i];
    }
    for (size_t i = 0; i < histograms_.size(); ++i) {
      if (IsFirstChoice(sums.histograms, histograms_, i)) {
        model.*histograms_[i].into = sums.histograms[i]->Sum();
      }
    }
    AddZeros(model);
    return model;
  }

  absl::string_view ZeroBefore(const auto& row) const {
    return row.zero_before.empty() ? engine_.zero_before : row.zero_before;
  }

  // Sets fields to 0 that the engine exports only after their first value.
  void AddZeros(ModelReading& model) const {
    for (const NumberMapping& row : engine_.numbers) {
      if (!(model.*row.into).has_value() && missing_.contains(ZeroBefore(row))) {
        model.*row.into = 0;
      }
    }
    for (const HistogramMapping& row : histograms_) {
      if (!(model.*row.into).has_value() && missing_.contains(ZeroBefore(row))) {
        model.*row.into = UnobservedHistogram();
      }
    }
  }

  const EngineExposition& engine_;
  const std::span<const HistogramMapping> histograms_;
  std::set<absl::string_view> missing_;  // metrics named by `zero_before`, until they are found
  bool is_empty_ = true;
  std::optional<std::string> named_;  // the model in the first of the engine's samples
  std::map<std::string, ModelSums> models_;
  ModelSums* model_ = nullptr;  // the previous sample's
  absl::string_view escaped_model_;
  std::vector<size_t> number_rows_;
  std::vector<size_t> histogram_rows_;
  std::optional<double> counters_began_;
};

}  // namespace

bool IsMarked(const EngineExposition& engine, absl::string_view name) {
  return std::ranges::any_of(engine.marks, [name](absl::string_view mark) {
    const bool is_beginning = mark.back() == ':' || mark.back() == '_';
    return is_beginning ? absl::StartsWith(name, mark) : name == mark;
  });
}

absl::StatusOr<EngineReading> ReadEngineExposition(
    const EngineExposition& engine, absl::string_view page, const ScrapeInterest& interest,
    absl::FunctionRef<bool(const ExpositionSample&)> counts) {
  PageSums sums(engine, interest.histograms);
  RETURN_IF_ERROR(ReadPage(
      page, interest.format, [&](absl::string_view name) { return sums.StartMetric(name); },
      [&](const ExpositionSample& sample) {
        if (counts(sample)) sums.Take(sample);
      }));
  return sums.Reading();
}

}  // namespace gpuscaler
