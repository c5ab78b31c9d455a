#include "page/response_memory.h"

#include <algorithm>

namespace gpuscaler {

bool ResponseMemory::Reserve(const std::string& tenant, size_t bytes) {
  MutexLock lock(mutex_);
  size_t& own = taken_by_tenant_[tenant];
  if (bytes > limit_ - taken_ || own + bytes > limit_ / 4) {
    if (own == 0) taken_by_tenant_.erase(tenant);
    return false;
  }
  own += bytes;
  taken_ += bytes;
  return true;
}

void ResponseMemory::Release(const std::string& tenant, size_t bytes) {
  if (bytes == 0) return;
  MutexLock lock(mutex_);
  const auto found = taken_by_tenant_.find(tenant);
  found->second -= bytes;
  taken_ -= bytes;
  if (found->second == 0) taken_by_tenant_.erase(found);
}

bool MemoryReservation::Resize(size_t bytes) {
  const size_t large = bytes - std::min(bytes, small_);
  if (large > taken_) {
    if (!budget_->Reserve(tenant_, large - taken_)) return false;
  } else {
    budget_->Release(tenant_, taken_ - large);
  }
  taken_ = large;
  return true;
}

}  // namespace gpuscaler
