#include "rpc/tls_files.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/test_certificates.h"

namespace gpuscaler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TlsFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "tls_files_" +
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
    files_ = WriteTls(folder_, pair_, ca_.pem());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void ExpectFault(const std::string& path, const std::string& fault) {
    const auto pems = ReadTls(files_);
    ASSERT_EQ(pems.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(pems.status().message()), AllOf(HasSubstr(path), HasSubstr(fault)));
  }
  void Write(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
  }

  const TestCa ca_{"ours"};
  const TestPair pair_ = ca_.Issue("server");
  std::string folder_;
  TlsFiles files_;
};

TEST_F(TlsFilesTest, GoodFilesAreHandedOnAsTheyAre) {
  const auto pems = ReadTls(files_);
  ASSERT_TRUE(pems.ok()) << pems.status();
  EXPECT_EQ(pems->cert, pair_.cert);
  EXPECT_EQ(pems->key, pair_.key);
  EXPECT_EQ(pems->client_ca, ca_.pem());
}

TEST_F(TlsFilesTest, ChainMayFollowTheLeaf) {
  Write(files_.cert, pair_.cert + ca_.pem());
  EXPECT_TRUE(ReadTls(files_).ok()) << ReadTls(files_).status();
}

TEST_F(TlsFilesTest, MissingFileIsNamed) {
  std::filesystem::remove(files_.key);
  ExpectFault(files_.key, "cannot be read");
}

TEST_F(TlsFilesTest, HalfAPairIsRefused) {
  files_.key.clear();
  ExpectFault("", "no key");
  files_.cert.clear();
  ExpectFault("", "no certificate");
}

TEST_F(TlsFilesTest, KeyOfAnotherCertificateIsRefused) {
  Write(files_.key, ca_.Issue("other").key);
  ExpectFault(files_.key, "is not the key of the certificate");
}

TEST_F(TlsFilesTest, ExpiredCertificateIsRefused) {
  files_ = WriteTls(folder_, ca_.Issue("server", -absl::Hours(1)), "");
  ExpectFault(files_.cert, "expired");
}

TEST_F(TlsFilesTest, CertificateOfTomorrowIsRefused) {
  files_ = WriteTls(folder_, ca_.Issue("server", absl::Hours(2), absl::Hours(1)), "");
  ExpectFault(files_.cert, "not valid yet");
}

TEST_F(TlsFilesTest, KeyThatIsTooWeakIsRefused) {
  const TestPair weak = ca_.IssueWeak("server");
  files_ = WriteTls(folder_, weak, "");
  ExpectFault(files_.cert, "ee key too small");
  files_ = WriteTls(folder_, {.cert = pair_.cert + weak.cert, .key = pair_.key}, "");
  ExpectFault(files_.cert, "ca key too small");
}

TEST_F(TlsFilesTest, WhatIsNoPemIsRefused) {
  Write(files_.client_ca, "");
  ExpectFault(files_.client_ca, "no PEM certificate");
  Write(files_.key, "secret words");
  ExpectFault(files_.key, "no PEM private key");
  EXPECT_THAT(std::string(ReadTls(files_).status().message()), Not(HasSubstr("secret words")));
  Write(files_.cert, "hello");
  ExpectFault(files_.cert, "no PEM certificate");
}

TEST_F(TlsFilesTest, OneBrokenCertificateOfAChainIsAFault) {
  std::string broken = ca_.pem();
  broken.replace(60, 4, "####");
  Write(files_.cert, pair_.cert + broken);
  ExpectFault(files_.cert, "not valid PEM");
}

}  // namespace
}  // namespace gpuscaler
