// The screen of `top`: from the web API's documents, what the user chose and the terminal's size to
// lines. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "app/terminal_keys.h"
#include "app/text_table.h"
#include "app/web_document.h"

namespace gpuscaler {

enum class TopView { kWorkloads, kFleet, kExplanation, kNode };

// The choices of the user.
struct TopState {
  // The choices of a view with a table.
  struct Table {
    std::optional<size_t> sorted;  // column; empty: the server's order
    bool reversed = false;
    std::string selected;  // key of the row; empty: the first
  };
  TopView view = TopView::kWorkloads;
  Table workloads;
  Table fleet;
  Table gpus;
  std::string filter;         // part of the names of workloads and nodes
  bool types_filter = false;  // the keys are its characters
  std::string opened;         // the row that kExplanation and kNode show
  size_t scrolled = 0;        // lines of the explanation
  bool ended = false;         // the user quit
};

// The newest documents; null: none yet.
struct TopDocuments {
  WebDocument status;
  WebDocument workloads;
  WebDocument fleet;
  WebDocument opened;  // the opened row
  std::string fault;   // why the newest request failed; empty: it did not
  absl::Duration age;  // since the newest reply
};

struct TopSize {
  size_t width = 0;   // columns; 0: unlimited
  size_t height = 0;  // lines
};

// Returns the path of the document that the view shows, besides /api/v1/status.
std::string TopPath(const TopState& state);

// Stores a reply to TopPath(state).
void SetTopDocument(const TopState& state, WebDocument document, TopDocuments& documents);

// Changes the state as a key requests, with the rows that the screen shows.
void OnTopKey(const Key& key, const TopDocuments& documents, const TopSize& size, TopState& state);

// Returns exactly `size.height` lines, each at most `size.width` columns wide.
std::vector<std::string> TopLines(const TopDocuments& documents, const TopState& state,
                                  const TopSize& size, const TextStyle& style, absl::TimeZone zone);

// Returns workloads and nodes below each other, all of them, for output that is no screen.
std::vector<std::string> TopPage(const TopDocuments& documents, size_t width,
                                 const TextStyle& style, absl::TimeZone zone);

}  // namespace gpuscaler
