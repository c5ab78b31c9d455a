// For tests of engines: pages as the engines write them, cut down to what matters; the values are
// made up.
#pragma once

#include "engine/engines.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {

// What the engine reads on a page that is recognised as its own; histograms too.
inline ModelReading ReadOwnPage(const Engine& engine, absl::string_view page,
                                absl::string_view model = "") {
  const auto recognised = Recognise(page, ExpositionFormat::kText);
  EXPECT_TRUE(recognised.ok() && *recognised == &engine) << recognised.status() << "\n" << page;
  const auto reading = engine.read(page, {.histograms = true});
  EXPECT_TRUE(reading.ok()) << reading.status() << "\n" << page;
  if (!reading.ok()) return {};
  const auto of_model = ReadingOf(*reading, model);
  EXPECT_TRUE(of_model.has_value()) << "no model " << model;
  return of_model.value_or(ModelReading());
}

// -1: there is none.
inline double CountOf(const std::optional<Histogram>& histogram) {
  return histogram.has_value() ? histogram->Count() : -1;
}

}  // namespace gpuscaler
