#include "page/large_bodies.h"

#include <algorithm>

namespace gpuscaler {

bool LargeBodies::Take(const std::string& tenant, size_t bytes) {
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

void LargeBodies::Release(const std::string& tenant, size_t bytes) {
  if (bytes == 0) return;
  MutexLock lock(mutex_);
  const auto found = taken_by_tenant_.find(tenant);
  found->second -= bytes;
  taken_ -= bytes;
  if (found->second == 0) taken_by_tenant_.erase(found);
}

bool LargeBody::Resize(size_t bytes) {
  const size_t large = bytes - std::min(bytes, small_);
  if (large > taken_) {
    if (!all_->Take(tenant_, large - taken_)) return false;
  } else {
    all_->Release(tenant_, taken_ - large);
  }
  taken_ = large;
  return true;
}

}  // namespace gpuscaler
