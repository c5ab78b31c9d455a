// The display name of a source in explanations and logs.
#pragma once

#include <string>

#include "model/signal_source.h"

namespace gpuscaler {

// Returns for example "vllm at http://llm:8000", "queue_size{pool="chat"} at
// http://gateway:9090/metrics" or "stream jobs at redis:6379". Contains no secret: a URL's query is
// left out.
std::string NameOf(const SignalSource& source);

}  // namespace gpuscaler
