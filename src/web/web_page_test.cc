#include "web/web_page.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "web/gzip.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

// echo -n 'alert(1)' | openssl dgst -sha256 -binary | base64
constexpr char kAlertHash[] = "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='";

TEST(WebPage, PolicyAllowsTheInlineScriptAndStyleByHash) {
  const WebPage page = WebPageOf(
      Gzip("<!doctype html><style>body{}</style><script type=\"module\">alert(1)</script><p>text"));
  EXPECT_THAT(page.content_security_policy, HasSubstr(std::string("; script-src ") + kAlertHash));
  EXPECT_THAT(page.content_security_policy, HasSubstr("; style-src 'sha256-"));
  EXPECT_THAT(page.content_security_policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page.content_security_policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(page.content_security_policy, Not(HasSubstr("unsafe")));
  EXPECT_THAT(*page.html, HasSubstr("<p>text"));
}

TEST(WebPage, TagsWithinAScriptAreItsText) {
  const WebPage page = WebPageOf(Gzip("<script>a='<style>b<\\/style><script>'</script>"));
  EXPECT_THAT(page.content_security_policy, HasSubstr("script-src 'sha256-"));
  EXPECT_THAT(page.content_security_policy, Not(HasSubstr("style-src")));
}

TEST(WebPage, WithoutPageNothingIsAllowed) {
  for (const std::string& bytes : {std::string(), std::string("no gzip")}) {
    const WebPage page = WebPageOf(bytes);
    EXPECT_EQ(page.html, nullptr);
    EXPECT_EQ(page.content_security_policy,
              "default-src 'none'; connect-src 'self'; img-src data:; base-uri 'none'; "
              "form-action 'none'; frame-ancestors 'none'");
  }
}

TEST(WebPage, BuiltInOneIsAPageOrEmpty) {
  const absl::string_view built_in = BuiltInPage();
  EXPECT_EQ(WebPageOf(built_in).html == nullptr, built_in.empty());
  EXPECT_LE(built_in.size(), 120u << 10);
}

}  // namespace
}  // namespace gpuscaler
