#include "cost/price_list.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "base/status_macros.h"

namespace gpuscaler {
namespace {

// https://opencost.io/docs/configuration/on-prem and kubecost's csv provider.
constexpr absl::string_view kOpenCostColumns[] = {"InstanceID", "AssetClass", "MarketPriceHourly"};

using Cells = std::vector<std::string>;

absl::Status LineFault(size_t line, absl::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat("line ", line, ": ", problem));
}

// Splits a line at its commas. A cell in double quotes may have commas, and "" for a quote.
absl::StatusOr<Cells> CellsOf(absl::string_view line, size_t number) {
  Cells cells(1);
  bool is_quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && is_quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += line[++i];
    } else if (c == '"') {
      is_quoted = !is_quoted;
    } else if (c == ',' && !is_quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  if (is_quoted) return LineFault(number, "a quoted cell does not end; use one line for each row");
  for (std::string& cell : cells) absl::StripAsciiWhitespace(&cell);
  return cells;
}

std::string ComparedName(absl::string_view model) {
  std::string name = absl::AsciiStrToLower(model);
  for (char& c : name) {
    if (c == '-' || c == '_') c = ' ';
  }
  absl::RemoveExtraAsciiWhitespace(&name);
  return name;
}

// Positions of OpenCost's columns, or those of "GPU model,price per hour".
struct PriceColumns {
  size_t model = 0;
  size_t price = 1;
  std::optional<size_t> asset_class;
  std::optional<size_t> end;
  size_t count = 2;
};

std::optional<size_t> FindColumn(const Cells& header, absl::string_view name) {
  for (size_t i = 0; i < header.size(); ++i) {
    if (absl::AsciiStrToLower(header[i]) == absl::AsciiStrToLower(name)) return i;
  }
  return std::nullopt;
}

absl::StatusOr<PriceColumns> ColumnsOf(const Cells& header, size_t line) {
  if (header.size() == 2 && FindColumn(header, "GPU model") == 0 &&
      FindColumn(header, "price per hour") == 1) {
    return PriceColumns();
  }
  for (const absl::string_view name : kOpenCostColumns) {
    if (FindColumn(header, name)) continue;
    return LineFault(line, absl::StrCat("the header is neither \"GPU model,price per hour\" nor "
                                        "one with OpenCost's columns ",
                                        absl::StrJoin(kOpenCostColumns, ", ")));
  }
  return PriceColumns{.model = *FindColumn(header, "InstanceID"),
                      .price = *FindColumn(header, "MarketPriceHourly"),
                      .asset_class = FindColumn(header, "AssetClass"),
                      .end = FindColumn(header, "EndTimestamp"),
                      .count = header.size()};
}

// Returns InfinitePast for a row without a time.
absl::StatusOr<absl::Time> EndOf(const Cells& cells, const PriceColumns& columns, size_t line) {
  if (!columns.end || cells[*columns.end].empty()) return absl::InfinitePast();
  const std::string& text = cells[*columns.end];
  absl::Time end;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text, &end, &error) ||
      absl::ParseTime("%E4Y-%m-%d %H:%M:%S UTC", text, &end, &error)) {
    return end;
  }
  return LineFault(
      line, absl::StrCat("EndTimestamp \"", text, "\": use a time such as 2026-11-29T00:00:00Z"));
}

}  // namespace

absl::StatusOr<PriceList> PriceList::Parse(absl::string_view text) {
  if (text.size() > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has more than ", kMaxBytes >> 20, " MiB of prices"));
  }
  PriceList prices;
  std::map<std::string, absl::Time> ends;
  std::optional<PriceColumns> columns;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    ASSIGN_OR_RETURN(const Cells cells, CellsOf(line, number));
    if (!columns) {
      ASSIGN_OR_RETURN(columns, ColumnsOf(cells, number));
      continue;
    }
    if (cells.size() != columns->count) {
      return LineFault(
          number, absl::StrCat("it has ", cells.size(), " cells, and the header ", columns->count));
    }
    if (columns->asset_class && absl::AsciiStrToLower(cells[*columns->asset_class]) != "gpu") {
      continue;
    }
    std::string model = ComparedName(cells[columns->model]);
    if (model.empty()) return LineFault(number, "the GPU model is empty");
    const absl::StatusOr<HourlyPrice> price = ParseHourlyPrice(cells[columns->price]);
    if (!price.ok()) return LineFault(number, price.status().message());
    ASSIGN_OR_RETURN(const absl::Time end, EndOf(cells, *columns, number));
    const auto before = ends.find(model);
    if (before != ends.end() && !columns->asset_class) {
      return LineFault(
          number, absl::StrCat("GPU model \"", cells[columns->model], "\" has a price already"));
    }
    if (before != ends.end() && before->second > end) continue;
    ends.insert_or_assign(model, end);
    prices.prices_.insert_or_assign(std::move(model), *price);
  }
  if (prices.prices_.empty()) return absl::InvalidArgumentError("it has no price of a GPU");
  return prices;
}

std::optional<HourlyPrice> PriceList::PriceOf(absl::string_view gpu_model) const {
  const auto found = prices_.find(ComparedName(gpu_model));
  if (found == prices_.end()) return std::nullopt;
  return found->second;
}

}  // namespace gpuscaler
