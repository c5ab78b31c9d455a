// A queue of many tenants' tasks: tenants take turns, and each has no more than a share of the
// tasks that are under way.
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

  explicit FairQueue(size_t most_of_one) : most_of_one_(most_of_one) {}

  // `bytes` are what the task holds until its turn.
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

  // The bytes that a tenant's tasks hold, and those of all.
  size_t BytesOf(const std::string& tenant) const {
    const auto found = tenants_.find(tenant);
    return found == tenants_.end() ? 0 : found->second.bytes;
  }
  size_t bytes() const { return bytes_; }

  // Returns the next task; it is under way until Done(). Empty: no tenant that may have more waits.
  std::optional<Turn> Next() {
    const auto found = Find();
    if (found == tenants_.end()) return std::nullopt;
    auto& [name, tenant] = *found;
    auto [task, bytes] = std::move(tenant.waiting.front());
    tenant.waiting.pop_front();
    tenant.bytes -= bytes;
    bytes_ -= bytes;
    ++tenant.under_way;
    last_ = name;
    return Turn{.tenant = name, .task = std::move(task)};
  }
  bool HasNext() { return Find() != tenants_.end(); }

  void Done(const std::string& tenant) {
    const auto found = tenants_.find(tenant);
    if (--found->second.under_way == 0 && found->second.waiting.empty()) tenants_.erase(found);
  }

 private:
  struct Tenant {
    std::deque<std::pair<Task, size_t>> waiting;
    size_t bytes = 0;
    size_t under_way = 0;
  };
  using Tenants = std::map<std::string, Tenant>;

  // The first behind the last one, all around.
  typename Tenants::iterator Find() {
    auto at = tenants_.upper_bound(last_);
    for (size_t i = 0; i < tenants_.size(); ++i, ++at) {
      if (at == tenants_.end()) at = tenants_.begin();
      if (!at->second.waiting.empty() && at->second.under_way < most_of_one_) return at;
    }
    return tenants_.end();
  }

  const size_t most_of_one_;
  Tenants tenants_;
  size_t bytes_ = 0;
  std::string last_;
};

}  // namespace gpuscaler
