#include "trigger/recommended_profile.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trigger/test_parsed_trigger.h"

namespace gpuscaler {
namespace {

TEST(RecommendedProfile, EachSuitedProfileIsBuiltIn) {
  for (const char* engine : {"vllm", "sglang", "tgi", "lmdeploy", "nim", "trtllm_serve", "triton",
                             "ollama", "llama_cpp"}) {
    const RecommendedProfile* const recommended = ProfileForEngine(engine);
    ASSERT_NE(recommended, nullptr) << engine;
    EXPECT_TRUE(BuiltInProfiles().contains(recommended->profile)) << engine;
  }
  EXPECT_EQ(ProfileForEngine("tei"), nullptr);
  EXPECT_EQ(ProfileForEngine(""), nullptr);
}

TEST(RecommendedProfile, ImageNamesItsEngine) {
  struct Row {
    const char* image;
    const char* title;
  };
  for (const Row& row :
       {Row{"vllm/vllm-openai:v0.11.0", "vLLM"}, Row{"lmsysorg/sglang:latest", "SGLang"},
        Row{"ghcr.io/huggingface/text-generation-inference:3.3", "TGI"},
        Row{"nvcr.io/nvidia/tritonserver:25.08-vllm-python-py3", "Triton"},
        Row{"nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8", "NIM"},
        Row{"ollama/ollama:0.12", "Ollama"}}) {
    const RecommendedProfile* const recommended = ProfileForImage(row.image);
    ASSERT_NE(recommended, nullptr) << row.image;
    EXPECT_EQ(recommended->title, row.title) << row.image;
  }
  EXPECT_EQ(ProfileForImage("pytorch/pytorch:2.8.0"), nullptr);
}

TEST(RecommendedProfile, AdviceNamesTheProfileAndItsEffect) {
  EXPECT_EQ(AdviceText(*ProfileForEngine("vllm")),
            "profile vllm-inference reads their requests and KV cache");
}

TEST(RecommendedProfile, OnlyUtilizationOfAWorkloadLacksAProfile) {
  EXPECT_TRUE(LacksProfile(Parsed({})));
  EXPECT_TRUE(LacksProfile(Parsed({{"targetValue", "70"}})));
  EXPECT_FALSE(LacksProfile(Parsed({{"profile", "triton-inference"}})));
  EXPECT_FALSE(LacksProfile(Parsed({{"metricType", "power_draw"}, {"targetValue", "300"}})));
  EXPECT_FALSE(LacksProfile(Parsed({{"scope", "node"}})));
}

}  // namespace
}  // namespace gpuscaler
