// A scaler without GPUs that reads the sources of triggers, and its answers; for tests.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "process.h"

namespace gpuscaler {

using Words = std::vector<std::string>;

// Polls so often that no test waits for the next poll.
inline Server NewServer(const Words& more = {}) {
  Words flags = {"--gpu-source=none", "--engine-interval=100ms", "--queue-interval=100ms",
                 "--allow-endpoints=127.0.0.1"};
  flags.insert(flags.end(), more.begin(), more.end());
  return Server(flags);
}

inline std::string Query(const Server& server, const Words& metadata) {
  Words words = {"query", server.Address(), "--namespace=shop", "--explain"};
  words.insert(words.end(), metadata.begin(), metadata.end());
  const Finished query = RunProgram(words);
  return query.out + query.err;
}

// Waits for an answer that contains all of these texts.
inline testing::AssertionResult AnswerHas(const Server& server, const Words& metadata,
                                          const Words& texts) {
  std::string last;
  const bool has_texts = Eventually([&] {
    last = Query(server, metadata);
    return std::ranges::all_of(texts,
                               [&](const auto& text) { return absl::StrContains(last, text); });
  });
  if (has_texts) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "never: " << absl::StrJoin(texts, " and ")
                                     << "\nat last: " << last << server.process().Diagnostics();
}

}  // namespace gpuscaler
