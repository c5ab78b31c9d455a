#include "serve/profile_store.h"

#include <filesystem>

#include "base/test_folder.h"
#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

class ProfileStoreTest : public testing::Test {
 protected:
  void Write(const std::string& yaml) { folder_.Write("profiles.yaml", yaml); }

  const TestFolder folder_;
  const std::string path_ = folder_.PathOf("profiles.yaml");
};

TEST_F(ProfileStoreTest, WithoutAFileServesTheBuiltInProfiles) {
  ProfileStore store("");
  EXPECT_TRUE(store.Reload().ok());
  EXPECT_TRUE(store.Get().profiles->contains("vllm-inference"));
  EXPECT_FALSE(store.HasFile());
}

TEST_F(ProfileStoreTest, ChangedFileIsAVersionOfItsOwn) {
  Write("profiles: {ours: {extends: vllm-inference, targetValue: 70}}");
  ProfileStore store(path_);
  ASSERT_TRUE(store.Reload().ok()) << store.Reload();
  const int64_t version = store.Get().version;
  EXPECT_EQ(store.Get().profiles->find("ours")->second.trigger.target, 70);
  ASSERT_TRUE(store.Reload().ok());
  EXPECT_EQ(store.Get().version, version);
  Write("profiles: {ours: {extends: vllm-inference, targetValue: 60}}");
  ASSERT_TRUE(store.Reload().ok());
  EXPECT_EQ(store.Get().version, version + 1);
  EXPECT_EQ(store.Get().profiles->find("ours")->second.trigger.target, 60);
}

TEST_F(ProfileStoreTest, BrokenOrMissingFileKeepsTheLastGoodProfiles) {
  Write("profiles: {ours: {extends: vllm-inference}}");
  ProfileStore store(path_);
  ASSERT_TRUE(store.Reload().ok());
  Write("profiles: {ours: {extends: nothing-like-it}}");
  EXPECT_EQ(store.Reload().code(), absl::StatusCode::kInvalidArgument);
  std::filesystem::remove(path_);
  EXPECT_EQ(store.Reload().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(store.Get().profiles->contains("ours"));
}

TEST_F(ProfileStoreTest, FileThatIsBeingWrittenKeepsTheLastGoodProfiles) {
  Write("profiles: {ours: {extends: vllm-inference}}");
  ProfileStore store(path_);
  ASSERT_TRUE(store.Reload().ok());
  Write("");
  EXPECT_EQ(store.Reload().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(store.Get().profiles->contains("ours"));
  Write("profiles: {}");
  EXPECT_TRUE(store.Reload().ok()) << store.Reload();
  EXPECT_FALSE(store.Get().profiles->contains("ours"));
}

TEST_F(ProfileStoreTest, DirectoryIsAnErrorAndNoProfiles) {
  ProfileStore store(folder_.path());
  EXPECT_EQ(store.Reload().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace gpuscaler
