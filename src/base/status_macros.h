// Early return on errors, for functions that return absl::Status or absl::StatusOr.
//
//   RETURN_IF_ERROR(Check(key));
//   ASSIGN_OR_RETURN(const double target, ParseNumber(text));
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define RETURN_IF_ERROR(expression)                           \
  do {                                                        \
    if (absl::Status status_ = (expression); !status_.ok()) { \
      return status_;                                         \
    }                                                         \
  } while (false)

#define GPUSCALER_CONCAT_INNER(a, b) a##b
#define GPUSCALER_CONCAT(a, b) GPUSCALER_CONCAT_INNER(a, b)

#define ASSIGN_OR_RETURN(declaration, expression) \
  GPUSCALER_ASSIGN_OR_RETURN(GPUSCALER_CONCAT(status_or_, __LINE__), declaration, expression)

#define GPUSCALER_ASSIGN_OR_RETURN(result, declaration, expression) \
  auto result = (expression);                                       \
  if (!result.ok()) return result.status();                         \
  declaration = *std::move(result)
