// The memory that readings take: a message of a few bytes may stand for thousands of pods.
#pragma once

#include <cstddef>

#include "model/node_snapshot.h"

namespace gpuscaler {

// The weight is the size in bytes, approximately, of everything that a node may have many of.
size_t WeightOf(const NodeSnapshot& snapshot);

// Sizes in bytes, approximately, of a reading and of what a history keeps of it
// (model/node_history.h).
struct ReadingWeight {
  size_t whole = 0;           // WeightOf()
  size_t standalone = 0;      // kept if it shares nothing with the reading before
  size_t after_previous = 0;  // kept if it shares the reading before's names, pods and holders
};

// `before` null: it is the first reading.
ReadingWeight StoredWeightOf(const NodeSnapshot* before, const NodeSnapshot& snapshot);

}  // namespace gpuscaler
