// What a source is called in explanations and logs.
#pragma once

#include <string>

#include "model/signal_source.h"

namespace gpuscaler {

// "vllm at http://llm:8000", "queue_size{pool="chat"} at http://gateway:9090/metrics", "stream jobs
// at redis:6379". Nothing secret: of a URL not its query.
std::string NameOf(const SignalSource& source);

}  // namespace gpuscaler
