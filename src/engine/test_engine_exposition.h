// Tests of engines: expositions as the engines write them, shortened, with made-up values.
#pragma once

#include "engine/engines.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {

// The page must be recognised as this engine's. The reading includes histograms.
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

// Returns -1 if there is no histogram.
inline double CountOf(const std::optional<Histogram>& histogram) {
  return histogram.has_value() ? histogram->Count() : -1;
}

}  // namespace gpuscaler
