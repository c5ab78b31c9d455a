// Requests are of another kind if their answers or prompts have other lengths. Capacity observed
// with one kind is no evidence for another.
#pragma once

#include "model/engine_demand.h"

namespace gpuscaler {

// Returns true if the mean answer of one has over 1.5 times the tokens of the other's. Returns
// false if either has fewer than 30 answers.
bool DifferInLength(const RequestBin& answers, const RequestBin& others);

// Returns true if a request of one takes more than twice the KV cache of the other's. Returns false
// if either is unknown.
bool DifferInCache(const ServiceSums& service, const ServiceSums& other);

}  // namespace gpuscaler
