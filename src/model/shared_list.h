// A list that its copies share.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace gpuscaler {

// Returns true if no other pointer shares the object. use_count() is a relaxed load. The copy of
// the pointer synchronizes with the thread that released the last other one: libstdc++ increments
// the count in acquire-release order (ext/atomicity.h).
template <typename T>
bool IsUnshared(const std::shared_ptr<T>& pointer) {
  return std::shared_ptr<T>(pointer).use_count() == 2;
}

// Copies share their elements until one copy is changed, which then has its own. The newest
// readings of a node have their GPUs once, and its history and layouts their pods. Threads may use
// different copies without a lock. References to elements are valid until the list is changed.
// operator[] and back() of a list that is not const count as a change, so that get() is cheaper for
// reading.
template <typename T>
class SharedList {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;
  using iterator = const_iterator;

  SharedList() = default;
  SharedList(std::vector<T> items)  // NOLINT(google-explicit-constructor): as an assigned vector
      : items_(items.empty() ? nullptr : std::make_shared<std::vector<T>>(std::move(items))) {}
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}

  const std::vector<T>& get() const {
    static const std::vector<T>& kEmpty = *new std::vector<T>();  // never destroyed
    return items_ == nullptr ? kEmpty : *items_;
  }
  operator const std::vector<T>&() const { return get(); }  // NOLINT(google-explicit-constructor)
  const_iterator begin() const { return get().begin(); }
  const_iterator end() const { return get().end(); }
  size_t size() const { return get().size(); }
  bool empty() const { return get().empty(); }
  const T& operator[](size_t place) const { return get()[place]; }
  const T& front() const { return get().front(); }
  const T& back() const { return get().back(); }

  // Returns the elements of this copy alone, to change them. Copies them first if they are shared.
  std::vector<T>& Own() {
    if (items_ == nullptr) {
      items_ = std::make_shared<std::vector<T>>();
    } else if (!IsUnshared(items_)) {
      items_ = std::make_shared<std::vector<T>>(*items_);
    }
    return *items_;
  }
  T& operator[](size_t place) { return Own()[place]; }
  T& back() { return Own().back(); }
  void push_back(T item) { Own().push_back(std::move(item)); }
  void clear() { items_ = nullptr; }

  friend bool operator==(const SharedList& a, const SharedList& b) {
    return a.items_ == b.items_ || a.get() == b.get();
  }

 private:
  std::shared_ptr<std::vector<T>> items_;  // null: empty
};

}  // namespace gpuscaler
