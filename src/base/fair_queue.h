// A round-robin queue of tasks of many tenants. It limits how many tasks of one tenant run at once.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace gpuscaler {

// Not thread-safe.
template <typename Task>
class FairQueue {
 public:
  struct Turn {
    std::string tenant;
    Task task;
  };

  explicit FairQueue(size_t max_running) : max_running_(max_running) {}

  // `bytes`: memory that the task holds while it waits.
  void Push(const std::string& tenant, Task task, size_t bytes = 0) {
    Tenant& owner = tenants_[tenant];
    owner.waiting.push_back({std::move(task), bytes});
    owner.bytes += bytes;
    bytes_ += bytes;
  }

  size_t Waiting(const std::string& tenant) const {
    const auto found = tenants_.find(tenant);
    return found == tenants_.end() ? 0 : found->second.waiting.size();
  }

  // Bytes that waiting tasks hold: those of one tenant, and all.
  size_t BytesOf(const std::string& tenant) const {
    const auto found = tenants_.find(tenant);
    return found == tenants_.end() ? 0 : found->second.bytes;
  }
  size_t bytes() const { return bytes_; }

  // The task counts as running until Done(). Returns nothing if no tenant below its limit has a
  // waiting task.
  std::optional<Turn> Next() {
    const auto found = Find();
    if (found == tenants_.end()) return std::nullopt;
    auto& [name, tenant] = *found;
    auto [task, bytes] = std::move(tenant.waiting.front());
    tenant.waiting.pop_front();
    tenant.bytes -= bytes;
    bytes_ -= bytes;
    ++tenant.running;
    last_ = name;
    return Turn{.tenant = name, .task = std::move(task)};
  }
  void Done(const std::string& tenant) {
    const auto found = tenants_.find(tenant);
    if (--found->second.running == 0 && found->second.waiting.empty()) tenants_.erase(found);
  }

  bool HasNext() { return Find() != tenants_.end(); }

 private:
  struct Tenant {
    std::deque<std::pair<Task, size_t>> waiting;
    size_t bytes = 0;
    size_t running = 0;
  };
  using Tenants = std::map<std::string, Tenant>;

  // Returns the next eligible tenant after the one that was served last, wrapping around.
  typename Tenants::iterator Find() {
    auto at = tenants_.upper_bound(last_);
    for (size_t i = 0; i < tenants_.size(); ++i, ++at) {
      if (at == tenants_.end()) at = tenants_.begin();
      if (!at->second.waiting.empty() && at->second.running < max_running_) return at;
    }
    return tenants_.end();
  }

  const size_t max_running_;
  Tenants tenants_;
  size_t bytes_ = 0;
  std::string last_;
};

}  // namespace gpuscaler
