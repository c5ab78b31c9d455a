#include "fault_test.h"

#include "own_network.h"

namespace gpuscaler {
namespace {

// The tests use fixed ports and names, so they need a network namespace. Fails without the right to
// create one.
class InOwnNetwork : public testing::Environment {
 public:
  void SetUp() override {
    const absl::Status entered = EnterOwnNetwork();
    ASSERT_TRUE(entered.ok()) << "these tests need root, or user namespaces: " << entered;
  }
};

const testing::Environment* const kInOwnNetwork =
    testing::AddGlobalTestEnvironment(new InOwnNetwork);

bool IsAllowed(const absl::Status& status, Unknown unknown) {
  return unknown == Unknown::kAllowed && absl::IsUnavailable(status);
}

std::string WhenOf(const std::vector<KedaAnswer>& answers, const KedaAnswer& answer) {
  return absl::StrCat(absl::FormatDuration(answer.at - answers.front().at),
                      " after the first: ", HistoryText(answers));
}

}  // namespace

void ExpectNoWrongScaling(const std::vector<KedaAnswer>& answers, double least, double most,
                          Unknown unknown) {
  ASSERT_FALSE(answers.empty());
  for (const KedaAnswer& answer : answers) {
    const std::string when = WhenOf(answers, answer);
    if (answer.value.ok()) {
      ASSERT_GE(*answer.value, least) << when;
      ASSERT_LE(*answer.value, most) << when;
    } else {
      ASSERT_TRUE(IsAllowed(answer.value.status(), unknown)) << answer.value.status() << when;
    }
    if (answer.active.ok()) {
      ASSERT_TRUE(*answer.active) << when;
    } else {
      ASSERT_TRUE(IsAllowed(answer.active.status(), unknown)) << answer.active.status() << when;
    }
  }
}

void ExpectOnlyRises(const std::vector<KedaAnswer>& answers, double most) {
  ASSERT_FALSE(answers.empty());
  double least = 0;
  bool was_active = false;
  for (const KedaAnswer& answer : answers) {
    const std::string when = WhenOf(answers, answer);
    if (answer.value.ok()) {
      ASSERT_GE(*answer.value, least) << when;
      ASSERT_LE(*answer.value, most) << when;
      least = *answer.value;
    } else {
      ASSERT_TRUE(IsAllowed(answer.value.status(), Unknown::kAllowed))
          << answer.value.status() << when;
    }
    if (answer.active.ok()) {
      ASSERT_TRUE(*answer.active || (least == 0 && !was_active)) << when;
      was_active = *answer.active;
    } else {
      ASSERT_TRUE(IsAllowed(answer.active.status(), Unknown::kAllowed))
          << answer.active.status() << when;
    }
  }
}

}  // namespace gpuscaler
