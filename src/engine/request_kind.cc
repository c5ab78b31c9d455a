#include "engine/request_kind.h"

namespace gpuscaler {
namespace {

// With this many answers, means differ by a factor of 1.5 only if the requests differ, not by
// chance.
constexpr double kComparedAnswers = 30;
constexpr double kOtherLength = 1.5;

// Cache per request is smaller while most requests have just begun.
constexpr double kOtherCache = 2;

// Returns false if either ratio is unknown.
bool Differs(double part, double whole, double other_part, double other_whole, double by) {
  if (part <= 0 || whole <= 0 || other_part <= 0 || other_whole <= 0) return false;
  const double ratio = part * other_whole / (other_part * whole);
  return ratio > by || ratio * by < 1;
}

}  // namespace

bool DifferInLength(const RequestBin& answers, const RequestBin& others) {
  return answers.answers >= kComparedAnswers && others.answers >= kComparedAnswers &&
         Differs(answers.answer_tokens, answers.answers, others.answer_tokens, others.answers,
                 kOtherLength);
}

bool DifferInCache(const ServiceSums& service, const ServiceSums& other) {
  return Differs(service.kv_seconds, service.kv_running_seconds, other.kv_seconds,
                 other.kv_running_seconds, kOtherCache);
}

}  // namespace gpuscaler
