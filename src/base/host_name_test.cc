#include "base/host_name.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(HostName, DnsNamesAreHostNames) {
  for (const char* name : {"a", "gpu-7", "7up", "localhost", "3com.com", "A.b.C", "shop_redis_1",
                           "keda-gpu-scaler-agents.gpu.svc", "agents.gpu.svc.cluster.local."}) {
    EXPECT_TRUE(IsHostName(name)) << name;
  }
  const std::string label(63, 'a');
  EXPECT_TRUE(IsHostName(absl::StrCat(label, ".", label, ".", label, ".", label.substr(2))));
}

TEST(HostName, AddressesAndOtherTextsAreNoHostNames) {
  for (const char* text :
       {"", ".", "a..b", ".a", "a b", "no such host!", "-a", "a-", "a.-b", "10.0.0.7", "300.1.1.1",
        "10.0.0", "7", "fd00::7", "[fd00::7]", "a:1", "http://a", "a/b", "h\xC3\xB6st"}) {
    EXPECT_FALSE(IsHostName(text)) << text;
  }
  const std::string label(63, 'a');
  EXPECT_FALSE(IsHostName(label + "a"));
  EXPECT_FALSE(IsHostName(absl::StrCat(label, ".", label, ".", label, ".", label.substr(1))));
}

TEST(HostName, ALabelHasNoDot) {
  for (const char* label : {"a", "jobs", "shop_redis_1", "7up"}) {
    EXPECT_TRUE(IsHostLabel(label)) << label;
  }
  for (const char* text : {"", "a.b", "a.", "..", "7", "a/b", "-a"}) {
    EXPECT_FALSE(IsHostLabel(text)) << text;
  }
}

}  // namespace
}  // namespace gpuscaler
