// Requests are of another kind when their answers or their prompts have other lengths. What one
// kind showed of an engine's capacity is no proof for another one.
#pragma once

#include "model/engine_demand.h"

namespace gpuscaler {

// Returns true if the mean answer of one has more than 1.5 times the tokens of the other's. False
// if either has fewer than 30 answers.
bool AreOfOtherLength(const RequestBin& answers, const RequestBin& others);

// Returns true if a request of one takes more than twice the KV cache of the other's. False if
// either is not known.
bool AreOfOtherCache(const ServiceSums& service, const ServiceSums& other);

}  // namespace gpuscaler
