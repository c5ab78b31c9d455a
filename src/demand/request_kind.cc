#include "demand/request_kind.h"

namespace gpuscaler {
namespace {

// Means of so many answers differ by a factor of 1.5 where their requests do, not by chance.
constexpr double kComparedAnswers = 30;
constexpr double kOtherLength = 1.5;

// The cache of a request is smaller while most of them have just begun.
constexpr double kOtherCache = 2;

// Returns false if either ratio is not known.
bool Differs(double part, double whole, double other_part, double other_whole, double by) {
  if (part <= 0 || whole <= 0 || other_part <= 0 || other_whole <= 0) return false;
  const double ratio = part * other_whole / (other_part * whole);
  return ratio > by || ratio * by < 1;
}

}  // namespace

bool AreOfOtherLength(const RequestBin& answers, const RequestBin& others) {
  return answers.answers >= kComparedAnswers && others.answers >= kComparedAnswers &&
         Differs(answers.answer_tokens, answers.answers, others.answer_tokens, others.answers,
                 kOtherLength);
}

bool AreOfOtherCache(const ServiceSums& service, const ServiceSums& other) {
  return Differs(service.kv_seconds, service.kv_running_seconds, other.kv_seconds,
                 other.kv_running_seconds, kOtherCache);
}

}  // namespace gpuscaler
