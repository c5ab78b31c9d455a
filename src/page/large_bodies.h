// Memory for what strangers answer: a small answer has it for itself, and what is larger shares
// this, so that many hostile ones at once take no more.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"

namespace gpuscaler {

// Shared by all who read pages and queues. Thread-safe.
class LargeBodies {
 public:
  explicit LargeBodies(size_t bytes = size_t{64} << 20) : most_(bytes) {}

  // False: there is no more, or the tenant has its quarter of all.
  bool Take(const std::string& tenant, size_t bytes);
  void Give(const std::string& tenant, size_t bytes);

 private:
  const size_t most_;
  Mutex mutex_;
  size_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, size_t> taken_by_ ABSL_GUARDED_BY(mutex_);
};

// What one answer has of it. Not thread-safe.
class LargeBody {
 public:
  // `small` bytes are its own.
  LargeBody(std::shared_ptr<LargeBodies> all, std::string tenant, size_t small)
      : all_(std::move(all)), tenant_(std::move(tenant)), small_(small) {}
  ~LargeBody() { all_->Give(tenant_, taken_); }
  LargeBody(const LargeBody&) = delete;
  LargeBody& operator=(const LargeBody&) = delete;

  // The answer takes that much now. False: there is no memory for it, and nothing changes.
  bool Resize(size_t bytes);

 private:
  const std::shared_ptr<LargeBodies> all_;
  const std::string tenant_;
  const size_t small_;
  size_t taken_ = 0;
};

}  // namespace gpuscaler
