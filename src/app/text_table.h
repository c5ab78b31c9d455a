// A table for terminals: sorted, filtered, and as wide as the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace gpuscaler {

struct TextStyle {
  bool color = false;  // SGR sequences
  bool ascii = false;  // no other characters
};

enum class Tone { kPlain, kWarning, kError, kHeading, kSelected };

// Returns the text with the colours of the tone, or as it is without colours.
std::string Toned(absl::string_view text, Tone tone, const TextStyle& style);

struct TextColumn {
  std::string name;
  bool is_number = false;  // aligned right, and sorted by number, largest first
  size_t least_width = 0;  // if there is no room; 0: that of its widest text
  int rank = 0;            // columns of the highest rank are left out first if there is no room
};

struct TextCell {
  std::string text;
  std::optional<double> number;  // the value, in a column of numbers; nullopt is sorted last
};

struct TextRow {
  std::string key;  // identifies the row in later tables
  std::vector<TextCell> cells;
  Tone tone = Tone::kPlain;
};

struct TextTable {
  std::vector<TextColumn> columns;
  std::vector<TextRow> rows;
};

// Sorts by a column. Rows that are equal there keep their order.
void SortRows(TextTable& table, size_t column, bool reversed);

// Removes the rows that contain `text` in no cell. Ignores case.
void FilterRows(TextTable& table, absl::string_view text);

// The part of a table that is shown.
struct TableView {
  size_t first = 0;
  size_t count = SIZE_MAX;         // at most so many rows
  size_t width = 0;                // columns of the terminal; 0: unlimited
  std::optional<size_t> selected;  // the row with a mark in front
  std::optional<size_t> sorted;    // the column that the heading marks
};

// Returns the heading and one line for each row that is shown. Without a width the lines end with
// their last text, else each has exactly that width.
std::vector<std::string> TableLines(const TextTable& table, const TableView& view,
                                    const TextStyle& style);

}  // namespace gpuscaler
