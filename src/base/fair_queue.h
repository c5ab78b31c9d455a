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

  void Push(const std::string& tenant, Task task) {
    tenants_[tenant].waiting.push_back(std::move(task));
  }

  size_t Waiting(const std::string& tenant) const {
    const auto found = tenants_.find(tenant);
    return found == tenants_.end() ? 0 : found->second.waiting.size();
  }

  // Returns the next task; it is under way until Done(). Empty: no tenant that may have more waits.
  std::optional<Turn> Next() {
    const auto found = Find();
    if (found == tenants_.end()) return std::nullopt;
    auto& [name, tenant] = *found;
    Turn turn{.tenant = name, .task = std::move(tenant.waiting.front())};
    tenant.waiting.pop_front();
    ++tenant.under_way;
    last_ = name;
    return turn;
  }
  bool HasNext() { return Find() != tenants_.end(); }

  void Done(const std::string& tenant) {
    const auto found = tenants_.find(tenant);
    if (--found->second.under_way == 0 && found->second.waiting.empty()) tenants_.erase(found);
  }

 private:
  struct Tenant {
    std::deque<Task> waiting;
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
  std::string last_;
};

}  // namespace gpuscaler
