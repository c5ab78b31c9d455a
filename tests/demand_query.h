// A scaler without GPUs that reads what triggers name, and what it answers for one, for tests.
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

// Reads so often that no test waits for its turn.
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

// True once one answer has all of these texts.
inline testing::AssertionResult Says(const Server& server, const Words& metadata,
                                     const Words& texts) {
  std::string last;
  const bool says = Eventually([&] {
    last = Query(server, metadata);
    return std::ranges::all_of(texts,
                               [&](const auto& text) { return absl::StrContains(last, text); });
  });
  if (says) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "never: " << absl::StrJoin(texts, " and ")
                                     << "\nat last: " << last << server.process().Story();
}

}  // namespace gpuscaler
