// Memory for the responses of untrusted servers. A small response has its own memory, and larger
// ones share a budget, so that many hostile responses at once take no more.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace gpuscaler {

// Shared by all readers of metrics endpoints and queues. Thread-safe.
class ResponseMemory {
 public:
  explicit ResponseMemory(size_t bytes = size_t{64} << 20) : limit_(bytes) {}

  // Returns false if the budget is used up, or if the tenant has a quarter of it.
  bool Reserve(const std::string& tenant, size_t bytes);
  void Release(const std::string& tenant, size_t bytes);

 private:
  const size_t limit_;
  Mutex mutex_;
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, size_t> taken_by_tenant_ ABSL_GUARDED_BY(mutex_);
};

// The share of one response in the budget. Not thread-safe.
class MemoryReservation {
 public:
  // `small` bytes are free and do not count.
  MemoryReservation(std::shared_ptr<ResponseMemory> budget, std::string tenant, size_t small)
      : budget_(std::move(budget)), tenant_(std::move(tenant)), small_(small) {}
  ~MemoryReservation() { budget_->Release(tenant_, taken_); }
  MemoryReservation(const MemoryReservation&) = delete;
  MemoryReservation& operator=(const MemoryReservation&) = delete;

  // The response now takes `bytes`. Returns false, and changes nothing, if there is no memory for
  // it.
  bool Resize(size_t bytes);

 private:
  const std::shared_ptr<ResponseMemory> budget_;
  const std::string tenant_;
  const size_t small_;
  size_t taken_ = 0;
};

}  // namespace gpuscaler
