#include "model/served_models.h"

#include "gtest/gtest.h"

namespace gpuscaler {
namespace {

TEST(ServedModels, NamesAreCompleteOrUnknown) {
  EXPECT_EQ(JoinModels({"llama", "", "qwen"}), "llama,qwen");
  EXPECT_EQ(JoinModels({}), "");
  const std::string umlauts = std::string(254, 'a') + "\xc3\xa4";  // 256 bytes
  EXPECT_EQ(JoinModels({umlauts}), umlauts);
  EXPECT_EQ(JoinModels({umlauts + "a"}), "");
  EXPECT_EQ(JoinModels({std::string(254, 'a'), "\xc3\xa4"}), "") << "no cut within a character";
}

TEST(ServedModels, OtherModelsHaveNoNameInCommon) {
  EXPECT_FALSE(AreOtherModels("llama", "llama"));
  EXPECT_FALSE(AreOtherModels("llama,qwen", "llama"));
  EXPECT_FALSE(AreOtherModels("qwen", "llama,qwen"));
  EXPECT_TRUE(AreOtherModels("qwen", "llama"));
  EXPECT_TRUE(AreOtherModels("qwen", "qwen-2"));
  EXPECT_FALSE(AreOtherModels("", "llama")) << "not known";
  EXPECT_FALSE(AreOtherModels("llama", "")) << "not known";
}

}  // namespace
}  // namespace gpuscaler
