#include "wire/tls_files.h"

#include <filesystem>

#include "base/test_folder.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "wire/test_certificates.h"

namespace gpuscaler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class TlsFilesTest : public testing::Test {
 protected:
  void ExpectFault(const std::string& path, const std::string& fault) {
    const auto pems = ReadTls(files_);
    ASSERT_EQ(pems.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(pems.status().message()), AllOf(HasSubstr(path), HasSubstr(fault)));
  }

  const TestCa ca_{"ours"};
  const TestCertificate pair_ = ca_.Issue("server");
  const TestFolder folder_;
  TlsFiles files_ = WriteTls(folder_.path(), pair_, ca_.pem());
};

TEST_F(TlsFilesTest, ReturnsValidFilesUnchanged) {
  const auto pems = ReadTls(files_);
  ASSERT_TRUE(pems.ok()) << pems.status();
  EXPECT_EQ(pems->cert, pair_.cert);
  EXPECT_EQ(pems->key, pair_.key);
  EXPECT_EQ(pems->ca, ca_.pem());
}

TEST_F(TlsFilesTest, ChainMayFollowTheLeaf) {
  folder_.Write("cert.pem", pair_.cert + ca_.pem());
  EXPECT_TRUE(ReadTls(files_).ok()) << ReadTls(files_).status();
}

TEST_F(TlsFilesTest, MissingFileIsNamed) {
  std::filesystem::remove(files_.key);
  ExpectFault(files_.key, "cannot be read");
}

TEST_F(TlsFilesTest, MissingKeyOrCertificateIsRefused) {
  files_.key.clear();
  ExpectFault("", "no key");
  files_.cert.clear();
  ExpectFault("", "no certificate");
}

TEST_F(TlsFilesTest, KeyOfAnotherCertificateIsRefused) {
  folder_.Write("key.pem", ca_.Issue("other").key);
  ExpectFault(files_.key, "is not the key of the certificate");
}

TEST_F(TlsFilesTest, ExpiredCertificateIsRefused) {
  files_ = WriteTls(folder_.path(), ca_.Issue("server", -absl::Hours(1)), "");
  ExpectFault(files_.cert, "expired");
}

TEST_F(TlsFilesTest, CertificateOfTomorrowIsRefused) {
  files_ = WriteTls(folder_.path(), ca_.Issue("server", absl::Hours(2), absl::Hours(1)), "");
  ExpectFault(files_.cert, "not valid yet");
}

TEST_F(TlsFilesTest, KeyThatIsTooWeakIsRefused) {
  const TestCertificate weak = ca_.IssueWeak("server");
  files_ = WriteTls(folder_.path(), weak, "");
  ExpectFault(files_.cert, "ee key too small");
  files_ = WriteTls(folder_.path(), {.cert = pair_.cert + weak.cert, .key = pair_.key}, "");
  ExpectFault(files_.cert, "ca key too small");
}

TEST_F(TlsFilesTest, TextThatIsNotPemIsRefused) {
  folder_.Write("ca.pem", "");
  ExpectFault(files_.client_ca, "no PEM certificate");
  folder_.Write("key.pem", "secret words");
  ExpectFault(files_.key, "no PEM private key");
  EXPECT_THAT(std::string(ReadTls(files_).status().message()), Not(HasSubstr("secret words")));
  folder_.Write("cert.pem", "hello");
  ExpectFault(files_.cert, "no PEM certificate");
}

TEST_F(TlsFilesTest, OneBrokenCertificateOfAChainIsAFault) {
  std::string broken = ca_.pem();
  broken.replace(60, 4, "####");
  folder_.Write("cert.pem", pair_.cert + broken);
  ExpectFault(files_.cert, "not valid PEM");
}

class TlsFileReaderTest : public TlsFilesTest {
 protected:
  // Writes the CA file. Returns the CA that is used after another read.
  std::string UsedAfter(const std::string& text) {
    folder_.Write("ca.pem", text);
    const auto pems = reader_.Read();
    return pems.ok() ? pems->ca : std::string(pems.status().message());
  }

  const TestCa other_{"another"};
  const std::string bundle_ = ca_.pem() + other_.pem();
  TlsFileReader reader_{files_};
};

TEST_F(TlsFileReaderTest, FirstReadIsUsed) { EXPECT_EQ(UsedAfter(bundle_), bundle_); }

TEST_F(TlsFileReaderTest, ChangeIsUsedAfterTwoEqualReads) {
  EXPECT_EQ(UsedAfter(ca_.pem()), ca_.pem());
  EXPECT_EQ(UsedAfter(bundle_), ca_.pem());
  EXPECT_EQ(UsedAfter(bundle_), bundle_);
  EXPECT_EQ(UsedAfter(bundle_), bundle_);
}

TEST_F(TlsFileReaderTest, BundleThatIsCutForOneReadIsNotUsed) {
  EXPECT_EQ(UsedAfter(bundle_), bundle_);
  EXPECT_EQ(UsedAfter(ca_.pem()), bundle_);
  EXPECT_EQ(UsedAfter(bundle_), bundle_);
  EXPECT_EQ(UsedAfter(ca_.pem()), bundle_);
  EXPECT_EQ(UsedAfter(other_.pem()), bundle_) << "two reads that differ";
}

TEST_F(TlsFileReaderTest, ReadsOnBothSidesOfAnErrorAreNotInARow) {
  EXPECT_EQ(UsedAfter(bundle_), bundle_);
  EXPECT_EQ(UsedAfter(ca_.pem()), bundle_);
  EXPECT_THAT(UsedAfter(""), HasSubstr("no PEM certificate"));
  EXPECT_EQ(UsedAfter(ca_.pem()), bundle_);
  EXPECT_EQ(UsedAfter(ca_.pem()), ca_.pem());
}

}  // namespace
}  // namespace gpuscaler
