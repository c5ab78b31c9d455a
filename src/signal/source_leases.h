// What is asked of a source, each question for as long as its lease lasts.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "absl/time/time.h"
#include "model/engine_metric.h"

namespace gpuscaler {

// Not thread-safe.
class SourceLeases {
 public:
  // Nobody asks just this yet.
  bool IsNew(const EngineQuestion& question) const;

  // Never shortens a longer one.
  void Renew(const EngineQuestion& question, absl::Time until);

  // True: one of them has ended, and what is to be kept may be less.
  bool End(absl::Time now);

  bool empty() const { return until_.empty(); }

  // What all of them together take.
  absl::Duration look_back() const { return look_back_; }
  bool histograms() const { return histograms_; }
  const std::set<std::string>& models() const { return models_; }  // those that are asked for

  size_t Bytes() const;  // of memory, about

 private:
  struct Wish {
    absl::Duration look_back;
    bool histograms = false;
    std::string model;

    friend bool operator<(const Wish& a, const Wish& b) {
      return std::tie(a.look_back, a.histograms, a.model) <
             std::tie(b.look_back, b.histograms, b.model);
    }
  };

  static Wish WishOf(const EngineQuestion& question);
  void AddUp();

  std::map<Wish, absl::Time> until_;
  absl::Duration look_back_;
  bool histograms_ = false;
  std::set<std::string> models_;
};

}  // namespace gpuscaler
