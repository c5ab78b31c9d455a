#include "page/credential_folder.h"

#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const EndpointOrigin kRedis = {
    .scheme = "rediss", .host = "redis.infra.svc.cluster.local.", .port = 6379};

absl::StatusOr<AliasCredentials> Find(const CredentialFolder& folder, absl::string_view alias,
                                      absl::string_view namespace_name,
                                      const EndpointOrigin& to = kRedis) {
  return folder.CheckedCredentials(alias, folder.Read(alias), namespace_name, to);
}

class CredentialFolderTest : public testing::Test {
 protected:
  void Write(const std::string& alias, const std::map<std::string, std::string>& files) {
    for (const auto& [name, text] : files) folder_.Write(absl::StrCat(alias, "/", name), text);
  }
  void WriteUsable() {
    Write("redis-jobs", {{"hosts", "rediss://redis.infra.svc\n"},
                         {"namespaces", "team-a, team-b\n"},
                         {"username", "app\n"},
                         {"password", "hunter2\n"},
                         {"ca.crt", "-----BEGIN CERTIFICATE-----\n"}});
  }
  std::string FaultOf(absl::string_view alias, absl::string_view namespace_name = "team-a",
                      const EndpointOrigin& to = kRedis) const {
    const CredentialFolder folder(folder_.path(), "cluster.local");
    return Find(folder, alias, namespace_name, to).status().ToString();
  }

  const TestFolder folder_;
};

TEST_F(CredentialFolderTest, ReturnsFileContentsWithoutTheFinalNewline) {
  WriteUsable();
  const auto found =
      Find(CredentialFolder(folder_.path(), "cluster.local"), "redis-jobs", "team-b");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->username, "app");
  EXPECT_EQ(found->password, "hunter2");
  EXPECT_EQ(found->bearer_token, "");
  EXPECT_EQ(found->identity.ca, "-----BEGIN CERTIFICATE-----");
}

TEST_F(CredentialFolderTest, ReadsTheCurrentFiles) {
  WriteUsable();
  const CredentialFolder folder(folder_.path(), "cluster.local");
  Write("redis-jobs", {{"password", "another"}});
  EXPECT_EQ(Find(folder, "redis-jobs", "team-a")->password, "another");
}

TEST_F(CredentialFolderTest, OnlyListedNamespacesMayUseAnAlias) {
  WriteUsable();
  EXPECT_THAT(
      FaultOf("redis-jobs", "team-c"),
      AllOf(HasSubstr("PERMISSION_DENIED"), HasSubstr("not for ScaledObjects of namespace team-c"),
            Not(HasSubstr("team-b"))));
  Write("redis-jobs", {{"namespaces", "*"}});
  EXPECT_EQ(FaultOf("redis-jobs", "team-c"), "OK");
}

TEST_F(CredentialFolderTest, OnlyListedOriginsReceiveCredentials) {
  const struct {
    const char* hosts;
    EndpointOrigin to;
    bool is_allowed;
  } cases[] = {
      {"rediss://redis.infra.svc", kRedis, true},
      {"rediss://redis.infra.svc:6379", kRedis, true},
      {"REDISS://Redis.infra.svc:6379", kRedis, true},
      {"rediss://*.infra.svc", kRedis, true},
      {"https://redis.infra.svc, rediss://redis.infra.svc", kRedis, true},
      {"rediss://mine.infra.svc", kRedis, false},
      {"redis://redis.infra.svc", kRedis, false},
      {"https://redis.infra.svc:6379", kRedis, false},
      {"rediss://redis.infra.svc:6380", kRedis, false},
      {"rediss://redis.infra.svc:6380, redis://redis.infra.svc:6379", kRedis, false},
      {"redis://10.1.2.3", {.scheme = "redis", .host = "10.1.2.3", .port = 6379}, true},
      {"http://[fd00::7]:81", {.scheme = "http", .host = "fd00::7", .port = 81}, true},
      {"http://a.b", {.scheme = "http", .host = "a.b", .port = 80}, true},
      {"http://a.b", {.scheme = "http", .host = "a.b", .port = 8000}, false},
      {"http://a.b", {.scheme = "https", .host = "a.b", .port = 443}, false},
      {"https://a.b", {.scheme = "https", .host = "a.b", .port = 443}, true},
      {"https://*.b:8443", {.scheme = "https", .host = "a.b", .port = 8443}, true},
      {"https://*.b:8443", {.scheme = "https", .host = "b", .port = 8443}, false},
  };
  WriteUsable();
  for (const auto& each : cases) {
    Write("redis-jobs", {{"hosts", each.hosts}});
    const std::string fault = FaultOf("redis-jobs", "team-a", each.to);
    EXPECT_THAT(fault, StartsWith(each.is_allowed ? "OK" : "PERMISSION_DENIED")) << each.hosts;
  }
}

TEST_F(CredentialFolderTest, RefusalNamesTheEndpointButNoAllowedOne) {
  WriteUsable();
  EXPECT_THAT(FaultOf("redis-jobs", "team-a",
                      {.scheme = "http", .host = "mine.team-a.svc.cluster.local.", .port = 8000}),
              AllOf(HasSubstr("not to be sent to http://mine.team-a.svc.cluster.local:8000"),
                    Not(HasSubstr("infra"))));
}

TEST_F(CredentialFolderTest, ErrorOfAnInvalidOriginOmitsItsContent) {
  WriteUsable();
  for (const char* entry :
       {"redis.infra.svc", "redis.infra.svc:6379", "redis://", "tcp://redis.infra.svc",
        "redis://redis.infra.svc:0", "redis://u:pw@redis.infra.svc", "http://a.b/path", "*",
        "redis://*", "redis://*.", "redis://redis.*.svc"}) {
    Write("redis-jobs", {{"hosts", absl::StrCat("rediss://redis.infra.svc ", entry)}});
    EXPECT_THAT(FaultOf("redis-jobs"),
                AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr("SCHEME://HOST:PORT"),
                      Not(HasSubstr("infra"))))
        << entry;
  }
}

TEST_F(CredentialFolderTest, MissingHostsOrNamespacesAllowNone) {
  for (const char* missing : {"hosts", "namespaces"}) {
    WriteUsable();
    Write("redis-jobs", {{missing, " \n"}});
    EXPECT_THAT(FaultOf("redis-jobs"),
                AllOf(HasSubstr("FAILED_PRECONDITION"), HasSubstr(absl::string_view(missing)),
                      HasSubstr("missing or empty")));
    std::filesystem::remove(folder_.PathOf(absl::StrCat("redis-jobs/", missing)));
    EXPECT_THAT(FaultOf("redis-jobs"), HasSubstr("missing or empty"));
  }
}

TEST_F(CredentialFolderTest, AnUnknownAliasIsAnError) {
  WriteUsable();
  EXPECT_THAT(FaultOf("redis-jbos"), HasSubstr("has none of that name"));
  const CredentialFolder none("", "cluster.local");
  EXPECT_THAT(Find(none, "redis-jobs", "team-a").status().ToString(),
              HasSubstr("--endpoint-credentials"));
}

TEST_F(CredentialFolderTest, AnAliasCannotLeaveTheFolder) {
  WriteUsable();
  for (const char* alias :
       {"..", ".", "../redis-jobs", "redis-jobs/../redis-jobs", "/etc", "", "..data"}) {
    EXPECT_THAT(FaultOf(alias), HasSubstr("use letters, digits, hyphens and underscores")) << alias;
  }
}

TEST_F(CredentialFolderTest, ACertificateWithoutKeyIsAnError) {
  WriteUsable();
  Write("redis-jobs", {{"tls.crt", "-----BEGIN CERTIFICATE-----"}});
  EXPECT_THAT(FaultOf("redis-jobs"), HasSubstr("tls.crt and tls.key"));
}

TEST_F(CredentialFolderTest, ErrorOfATooLargeFileOmitsItsContent) {
  WriteUsable();
  Write("redis-jobs", {{"password", std::string(100'000, 'x')}});
  EXPECT_THAT(FaultOf("redis-jobs"),
              AllOf(HasSubstr("FAILED_PRECONDITION"), Not(HasSubstr("xxxx"))));
}

TEST_F(CredentialFolderTest, APipeDoesNotBlock) {
  WriteUsable();
  ASSERT_EQ(mkfifo(folder_.PathOf("redis-jobs/token").c_str(), 0600), 0);
  EXPECT_THAT(FaultOf("redis-jobs"), HasSubstr("token is no regular file"));
}

// Mounts files as Kubernetes does: a folder for each version, and a link to the newest.
class MountedSecret {
 public:
  explicit MountedSecret(std::filesystem::path path) : path_(std::move(path)) {
    Replace();
    for (const char* name : {"hosts", "namespaces", "tls.crt", "tls.key"}) {
      std::filesystem::create_symlink(std::filesystem::path("..data") / name, path_ / name);
    }
  }
  void Replace() {
    const std::filesystem::path before = path_ / absl::StrCat("..", time_++);
    const std::filesystem::path now = path_ / absl::StrCat("..", time_);
    std::filesystem::create_directory(now);
    std::ofstream(now / "hosts") << "rediss://redis.infra.svc";
    std::ofstream(now / "namespaces") << "*";
    std::ofstream(now / "tls.crt") << time_;
    std::ofstream(now / "tls.key") << time_;
    std::filesystem::create_symlink(now.filename(), path_ / "..data_tmp");
    std::filesystem::rename(path_ / "..data_tmp", path_ / "..data");
    std::filesystem::remove_all(before);
  }

 private:
  const std::filesystem::path path_;
  int time_ = 0;
};

TEST_F(CredentialFolderTest, CertificateAndKeyAreOfOneVersion) {
  MountedSecret secret(folder_.AddFolder("mounted"));
  const CredentialFolder folder(folder_.path(), "cluster.local");
  std::atomic<bool> stopping = false;
  std::thread replacing([&] {
    while (!stopping) secret.Replace();
  });
  int read = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto found = Find(folder, "mounted", "team-a");
    if (!found.ok()) continue;  // replaced during each try
    ++read;
    EXPECT_EQ(found->identity.cert, found->identity.key);
  }
  stopping = true;
  replacing.join();
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace gpuscaler
