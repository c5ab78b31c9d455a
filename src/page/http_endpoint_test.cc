#include "page/http_endpoint.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Good {
  const char* url;
  HttpEndpoint want;
  const char* text;
};

TEST(HttpEndpoint, ParsesSchemeHostPortAndPath) {
  const Good table[] = {
      {"http://llm", {.host = "llm"}, "http://llm"},
      {"http://LLM.Team-A:8000", {.host = "llm.team-a", .port = 8000}, "http://llm.team-a:8000"},
      {"HTTPS://llm.team-a.svc.:8443/metrics",
       {.tls = true, .host = "llm.team-a.svc.", .port = 8443, .path = "/metrics"},
       "https://llm.team-a.svc.:8443/metrics"},
      {"http://llm/metrics?model=a%20b&x=1:2@3",
       {.host = "llm", .path = "/metrics?model=a%20b&x=1:2@3"},
       "http://llm/metrics"},
      {"http://llm?pool=a", {.host = "llm", .path = "/?pool=a"}, "http://llm/"},
      {"http://10.0.0.7:1/", {.host = "10.0.0.7", .port = 1, .path = "/"}, "http://10.0.0.7:1/"},
      {"http://[FD00:0::7]:65535/m",
       {.host = "fd00::7", .port = 65535, .path = "/m"},
       "http://[fd00::7]:65535/m"},
      {"http://[fd00::7]", {.host = "fd00::7"}, "http://[fd00::7]"},
      {"http://a_b:80", {.host = "a_b", .port = 80}, "http://a_b:80"},
  };
  for (const auto& [url, want, text] : table) {
    const auto got = ParseHttpEndpoint(url);
    ASSERT_TRUE(got.ok()) << url << ": " << got.status();
    EXPECT_TRUE(*got == want) << url << ": " << got->Text() << " " << got->path;
    EXPECT_EQ(got->Text(), text) << url;
  }
}

TEST(HttpEndpoint, PortDefaultsToTheSchemesOrTheCallers) {
  EXPECT_EQ(ParseHttpEndpoint("http://llm")->PortOfScheme(), 80);
  EXPECT_EQ(ParseHttpEndpoint("https://llm")->PortOfScheme(), 443);
  EXPECT_EQ(ParseHttpEndpoint("https://llm")->PortOr(8000), 8000);
  EXPECT_EQ(ParseHttpEndpoint("https://llm:9000")->PortOfScheme(), 9000);
  EXPECT_EQ(ParseHttpEndpoint("https://llm:9000")->PortOr(8000), 9000);
}

struct Wrong {
  std::string url;
  const char* want;
};

TEST(HttpEndpoint, InvalidUrlsAreRefusedWithWhatIsAllowed) {
  const Wrong table[] = {
      {"", "neither http:// nor https://"},
      {"llm:8000", "neither http:// nor https://"},
      {"file:///etc/passwd", "neither http:// nor https://"},
      {"gopher://llm:70/", "neither http:// nor https://"},
      {" http://llm", "neither http:// nor https://"},
      {"http:/llm", "neither http:// nor https://"},
      {"http://", "no host"},
      {"http:///metrics", "no host"},
      {"http://:8000", "no host"},
      {"http://?x", "no host"},
      {"http://llm:", "\"\" is no port 1-65535"},
      {"http://llm:/metrics", "\"\" is no port 1-65535"},
      {"http://llm:0", "\"0\" is no port 1-65535"},
      {"http://llm:65536", "\"65536\" is no port 1-65535"},
      {"http://llm:+80", "\"+80\" is no port 1-65535"},
      {"http://llm:80 ", "\"80 \" is no port 1-65535"},
      {"http://llm:8000:9000", "\"llm:8000:9000\" is no host"},
      {"http://fd00::7/metrics", "\"fd00::7\" is an IPv6 address: write it in brackets"},
      {"http://[fd00::7]8000", "\"[fd00::7]8000\" is no host"},
      {"http://[fd00::7", "is no host"},
      {"http://[fe80::1%25eth0]:8000", "is no IPv6 address"},
      {"http://[10.0.0.7]", "\"10.0.0.7\" is no IPv6 address"},
      {"http://[]", "\"\" is no IPv6 address"},
      {"http://127.1", "\"127.1\" is no host"},
      {"http://2130706433", "\"2130706433\" is no host"},
      {"http://a b", "\"a b\" is no host"},
      {"http://llm%2e", "\"llm%2e\" is no host"},
      {"http://-llm", "\"-llm\" is no host"},
      {"http://llm\\@evil", "must be percent-encoded"},
      {"http://llm/a b", "must be percent-encoded"},
      {"http://llm/a\r\nHost: b", "must be percent-encoded"},
      {"http://llm/\xc3\xa4", "must be percent-encoded"},
      {"http://llm/<a>", "must be percent-encoded"},
      {"http://llm/#top", "a fragment (#...) is never sent"},
      {"http://llm#top", "a fragment (#...) is never sent"},
      {"http://llm/" + std::string(2000, 'a'), "longer than 2000 characters"},
  };
  for (const auto& [url, want] : table) {
    const auto got = ParseHttpEndpoint(url);
    EXPECT_EQ(got.status().code(), absl::StatusCode::kInvalidArgument) << url;
    EXPECT_THAT(std::string(got.status().message()), HasSubstr(want)) << url;
    EXPECT_THAT(std::string(got.status().message()), HasSubstr("use http://HOST:PORT/PATH"));
  }
}

TEST(HttpEndpoint, SecretsInAUrlAreNotRepeated) {
  for (const char* url :
       {"http://user:hunter2@llm:8000/metrics", "http://hunter2@[::1]", "http://user:hunter2/x@llm",
        "http://user:hunter2?x@llm", "http://hunter2 /x@llm", "http://[hunter2]/@llm",
        "http://llm/metrics?key=hunter2 ", "http://llm/?key=hunter2#x"}) {
    const auto got = ParseHttpEndpoint(url);
    EXPECT_FALSE(got.ok()) << url;
    EXPECT_THAT(std::string(got.status().message()), Not(HasSubstr("hunter2"))) << url;
  }
}

TEST(HttpEndpoint, HostAndPortBracketsIpv6) {
  EXPECT_EQ(HostAndPort("llm", 8000), "llm:8000");
  EXPECT_EQ(HostAndPort("fd00::7", 8000), "[fd00::7]:8000");
}

}  // namespace
}  // namespace gpuscaler
