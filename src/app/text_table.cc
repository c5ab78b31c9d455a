#include "app/text_table.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "app/text_width.h"

namespace gpuscaler {
namespace {

constexpr size_t kGap = 2;   // between columns
constexpr size_t kMark = 2;  // in front of each line, for the selected row

absl::string_view SgrOf(Tone tone) {
  switch (tone) {
    case Tone::kWarning:
      return "\x1b[33m";
    case Tone::kError:
      return "\x1b[31m";
    case Tone::kHeading:
      return "\x1b[1m";
    case Tone::kSelected:
      return "\x1b[7m";
    case Tone::kPlain:
      break;
  }
  return "";
}

struct Column {
  size_t index;
  size_t natural;  // its widest text
  size_t width;
};

size_t NaturalWidth(const TextTable& table, size_t column, const TableView& view) {
  size_t width = TextWidth(table.columns[column].name) + (view.sorted == column ? 1 : 0);
  for (const TextRow& row : table.rows) width = std::max(width, TextWidth(row.cells[column].text));
  return width;
}

size_t LineWidth(const std::vector<Column>& columns) {
  size_t width = kMark;
  for (const Column& column : columns) width += column.width + kGap;
  return columns.empty() ? width : width - kGap;
}

// Leaves out columns until the others fit, and divides the room among those that shrank.
std::vector<Column> ColumnsOf(const TextTable& table, const TableView& view) {
  std::vector<Column> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const size_t natural = NaturalWidth(table, i, view);
    const size_t least = table.columns[i].least_width;
    const bool may_shrink = view.width > 0 && least > 0;
    columns.push_back(
        {.index = i, .natural = natural, .width = may_shrink ? std::min(natural, least) : natural});
  }
  if (view.width == 0) return columns;
  while (columns.size() > 1 && LineWidth(columns) > view.width) {
    columns.erase(std::ranges::max_element(
        columns, {}, [&table](const Column& column) { return table.columns[column.index].rank; }));
  }
  for (Column& column : columns) {
    const size_t used = LineWidth(columns);
    if (used >= view.width) break;
    column.width = std::min(column.natural, column.width + view.width - used);
  }
  return columns;
}

std::string Fitted(const TextTable& table, const Column& column, absl::string_view text,
                   const TextStyle& style) {
  return table.columns[column.index].is_number ? FittedRight(text, column.width, style.ascii)
                                               : FittedLeft(text, column.width, style.ascii);
}

std::string Heading(const TextTable& table, const std::vector<Column>& columns,
                    const TableView& view, const TextStyle& style) {
  std::string line(kMark, ' ');
  for (const Column& column : columns) {
    const bool is_sorted = view.sorted == column.index;
    const absl::string_view mark = is_sorted ? (style.ascii ? "*" : "▾") : "";
    if (line.size() > kMark) absl::StrAppend(&line, std::string(kGap, ' '));
    absl::StrAppend(
        &line, Fitted(table, column, absl::StrCat(table.columns[column.index].name, mark), style));
  }
  return line;
}

}  // namespace

std::string Toned(absl::string_view text, Tone tone, const TextStyle& style) {
  const absl::string_view begin = style.color ? SgrOf(tone) : "";
  return absl::StrCat(begin, text, begin.empty() ? "" : "\x1b[0m");
}

void SortRows(TextTable& table, size_t column, bool reversed) {
  if (column >= table.columns.size()) return;
  const bool by_number = table.columns[column].is_number;
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [column, reversed, by_number](const TextRow& a, const TextRow& b) {
                     const TextCell& left = a.cells[column];
                     const TextCell& right = b.cells[column];
                     if (!by_number) {
                       return reversed ? left.text > right.text : left.text < right.text;
                     }
                     if (!left.number || !right.number) {
                       return left.number.has_value() && !right.number.has_value();
                     }
                     return reversed ? *left.number < *right.number : *left.number > *right.number;
                   });
}

void FilterRows(TextTable& table, absl::string_view text) {
  if (text.empty()) return;
  const std::string wanted = absl::AsciiStrToLower(text);
  std::erase_if(table.rows, [&wanted](const TextRow& row) {
    return std::ranges::none_of(row.cells, [&wanted](const TextCell& cell) {
      return absl::StrContains(absl::AsciiStrToLower(cell.text), wanted);
    });
  });
}

std::vector<std::string> TableLines(const TextTable& table, const TableView& view,
                                    const TextStyle& style) {
  const std::vector<Column> columns = ColumnsOf(table, view);
  const auto limited = [&view, &style](const std::string& line) {
    if (view.width > 0) return FittedLeft(line, view.width, style.ascii);
    return std::string(absl::StripTrailingAsciiWhitespace(line));
  };
  std::vector<std::string> lines = {
      Toned(limited(Heading(table, columns, view, style)), Tone::kHeading, style)};
  for (size_t i = view.first; i < table.rows.size() && i - view.first < view.count; ++i) {
    const TextRow& row = table.rows[i];
    const bool is_selected = view.selected == i;
    std::string line = is_selected ? "> " : "  ";
    for (const Column& column : columns) {
      if (column.index != columns.front().index) absl::StrAppend(&line, std::string(kGap, ' '));
      absl::StrAppend(&line, Fitted(table, column, row.cells[column.index].text, style));
    }
    lines.push_back(Toned(limited(line), is_selected ? Tone::kSelected : row.tone, style));
  }
  return lines;
}

}  // namespace gpuscaler
