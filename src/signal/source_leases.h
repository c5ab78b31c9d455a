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
  absl::Duration memory() const { return memory_; }  // EngineQuestion::memory
  bool histograms() const { return histograms_; }
  const std::set<std::string>& models() const { return models_; }  // those that are asked for

  size_t Bytes() const;  // of memory, about

 private:
  struct Interest {
    absl::Duration look_back;
    bool histograms = false;
    std::string model;
    absl::Duration memory;

    friend bool operator<(const Interest& a, const Interest& b) {
      return std::tie(a.look_back, a.histograms, a.model, a.memory) <
             std::tie(b.look_back, b.histograms, b.model, b.memory);
    }
  };

  static Interest InterestOf(const EngineQuestion& question);
  void AddUp();

  std::map<Interest, absl::Time> until_;
  absl::Duration look_back_;
  absl::Duration memory_;
  bool histograms_ = false;
  std::set<std::string> models_;
};

}  // namespace gpuscaler
