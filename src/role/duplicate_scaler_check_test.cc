#include "role/duplicate_scaler_check.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using Addresses = absl::StatusOr<std::vector<std::string>>;

class DuplicateScalerCheckTest : public testing::Test {
 protected:
  // The log of a tick while the name resolves to these.
  std::string Tick(const Addresses& addresses) {
    addresses_ = addresses;
    testing::internal::CaptureStderr();
    duplicates_.Tick();
    return testing::internal::GetCapturedStderr();
  }

  Addresses addresses_ = std::vector<std::string>();
  DuplicateScalerCheck duplicates_{"scaler.example",
                                   [this](const std::string&) { return addresses_; }};
};

TEST_F(DuplicateScalerCheckTest, SecondScalerCausesOneWarning) {
  const Addresses two = std::vector<std::string>{"10.0.0.1", "10.0.0.2"};
  EXPECT_THAT(Tick(two), IsEmpty());  // may be a rolling update
  const std::string line = Tick(two);
  EXPECT_THAT(line, HasSubstr("level=warn event=duplicate_scalers"));
  EXPECT_THAT(line, HasSubstr("service=scaler.example addresses=10.0.0.1,10.0.0.2"));
  EXPECT_THAT(Tick(two), IsEmpty());
}

TEST_F(DuplicateScalerCheckTest, OneScalerAgainIsLoggedAndTheNextSecondOneWarnedOf) {
  const Addresses one = std::vector<std::string>{"10.0.0.1"};
  const Addresses two = std::vector<std::string>{"10.0.0.1", "10.0.0.2"};
  Tick(two);
  Tick(two);
  EXPECT_THAT(Tick(one), HasSubstr("event=duplicate_scalers_gone"));
  EXPECT_THAT(Tick(one), IsEmpty());
  EXPECT_THAT(Tick(two), IsEmpty());
  EXPECT_THAT(Tick(two), HasSubstr("event=duplicate_scalers"));
}

TEST_F(DuplicateScalerCheckTest, RollingUpdateCausesNoWarning) {
  for (int update = 0; update < 3; ++update) {
    EXPECT_THAT(Tick(std::vector<std::string>{"10.0.0.1", "10.0.0.2"}), IsEmpty());
    EXPECT_THAT(Tick(std::vector<std::string>{"10.0.0.2"}), IsEmpty());
  }
}

TEST_F(DuplicateScalerCheckTest, UnresolvedNameIsNoEvidence) {
  const Addresses two = std::vector<std::string>{"10.0.0.1", "10.0.0.2"};
  const Addresses failed = absl::UnavailableError("scaler.example: no DNS");
  Tick(two);
  Tick(two);
  EXPECT_THAT(Tick(failed), IsEmpty());
  EXPECT_THAT(Tick(two), IsEmpty());
}

TEST_F(DuplicateScalerCheckTest, NameWithoutAddressIsLoggedOnceAndWhenItHasOne) {
  const Addresses one = std::vector<std::string>{"10.0.0.1"};
  const Addresses failed = absl::UnavailableError("scaler.example: no DNS");
  EXPECT_THAT(Tick(failed), IsEmpty());  // there is no address before the first scaler is ready
  EXPECT_THAT(Tick(failed), AllOf(HasSubstr("level=warn event=service_unresolved"),
                                  HasSubstr("service=scaler.example"), HasSubstr("no DNS")));
  EXPECT_THAT(Tick(failed), IsEmpty());
  EXPECT_THAT(Tick(one), HasSubstr("event=service_resolved"));
  EXPECT_THAT(Tick(failed), IsEmpty());
  EXPECT_THAT(Tick(one), IsEmpty());
}

TEST_F(DuplicateScalerCheckTest, UnknownNameHasNoAddress) {
  const Addresses none = std::vector<std::string>{};
  Tick(none);
  EXPECT_THAT(Tick(none), HasSubstr("why=\"scaler.example: the name has no address\""));
}

TEST_F(DuplicateScalerCheckTest, AddressOfEachFamilyIsOneScaler) {
  const Addresses one = std::vector<std::string>{"10.0.0.1", "fd00::1"};
  const Addresses two = std::vector<std::string>{"10.0.0.1", "fd00::1", "fd00::2"};
  Tick(one);
  EXPECT_THAT(Tick(one), IsEmpty());
  Tick(two);
  EXPECT_THAT(Tick(two), HasSubstr("event=duplicate_scalers"));
}

}  // namespace
}  // namespace gpuscaler
