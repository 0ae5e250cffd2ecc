// What is written is read back, by a reader that knows only the format.
#include "llm/gguf.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cerrno>
#include <fstream>

#include "llm/gguf_support.h"
#include "llm/tiny_model.h"
#include "support/temporary_directory.h"

namespace gp::llm {
namespace {

ReadFile read(const std::string& bytes) { return GgufReader(bytes).read(); }

TEST(Gguf, BeginsAsTheFormatSays) {
  GgufFile file;
  file.set("answer", u32{42});
  const std::string expected(
      "GGUF\3\0\0\0"            // version
      "\0\0\0\0\0\0\0\0"        // tensors
      "\1\0\0\0\0\0\0\0"        // settings
      "\6\0\0\0\0\0\0\0answer"  // key
      "\4\0\0\0\x2a\0\0\0",     // its kind, its value
      8 + 16 + 14 + 8);
  EXPECT_EQ(file.bytes().substr(0, expected.size()), expected);
  EXPECT_EQ(file.bytes().size() % kGgufAlignment, 0u);
}

RC_GTEST_PROP(Gguf, SettingsAreReadBack,
              (u32 whole, bool yes, const std::string& text, const std::vector<std::string>& texts,
               const std::vector<i32>& numbers)) {
  GgufFile file;
  file.set("whole", whole);
  file.set("yes", yes);
  file.set("real", 0.5F);
  file.set("text", text);
  file.set("texts", texts);
  file.set("numbers", numbers);
  file.set("reals", std::vector<float>(numbers.begin(), numbers.end()));
  const ReadFile back = read(file.bytes());
  RC_ASSERT(back.version == 3u);
  RC_ASSERT(back.settings.at("whole") == Value(whole));
  RC_ASSERT(back.settings.at("yes") == Value(yes));
  RC_ASSERT(back.settings.at("real") == Value(0.5F));
  RC_ASSERT(back.settings.at("text") == Value(text));
  RC_ASSERT(back.settings.at("texts") == Value(texts));
  RC_ASSERT(back.settings.at("numbers") == Value(numbers));
  RC_ASSERT(back.settings.at("reals") == Value(std::vector<float>(numbers.begin(), numbers.end())));
}

RC_GTEST_PROP(Gguf, TensorsAreReadBackFromAlignedPlaces, (const std::vector<bool>& halves)) {
  GgufFile file;
  std::vector<std::vector<float>> all;
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const auto rows = static_cast<u64>(*rc::gen::inRange(1, 20));
    std::vector<float> values;
    for (u64 n = 0; n < 3 * rows; ++n) {  // what F16 has exactly
      values.push_back(std::ldexp(static_cast<float>(*rc::gen::inRange(-2047, 2048)), -12));
    }
    file.add_tensor(std::to_string(i), {3, rows}, halves[i] ? GgufElement::f16 : GgufElement::f32,
                    values);
    all.push_back(values);
  }
  const ReadFile back = read(file.bytes());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const ReadTensor& tensor = back.tensors.at(std::to_string(i));
    RC_ASSERT(tensor.values == all[i]);
    RC_ASSERT(tensor.offset % 32 == 0u);
    RC_ASSERT(tensor.dimensions == (std::vector<u64>{3, all[i].size() / 3}));
  }
}

RC_GTEST_PROP(Gguf, AHalfIsAsNearAsItsDigits, (float any)) {
  const float value = std::fmod(any, 60000.0F);
  RC_PRE(std::isfinite(value) && std::fabs(value) > 1e-4F);
  GgufFile file;
  file.add_tensor("one", {1}, GgufElement::f16, {value});
  const float back = read(file.bytes()).tensors.at("one").values.at(0);
  RC_ASSERT(std::fabs(back - value) <= std::fabs(value) / 1024);
  RC_ASSERT(std::signbit(back) == std::signbit(value));
}

TEST(TinyModel, HasTheTensorsAndSettingsOfALlama) {
  const auto bytes = gguf_of({128, 2, 7});
  ASSERT_TRUE(bytes);
  const ReadFile file = read(*bytes);
  EXPECT_EQ(file.settings.at("general.architecture"), Value(std::string("llama")));
  EXPECT_EQ(file.settings.at("llama.embedding_length"), Value(u32{128}));
  EXPECT_EQ(file.settings.at("llama.block_count"), Value(u32{2}));
  const u64 words = std::get<Texts>(file.settings.at("tokenizer.ggml.tokens")).size();
  EXPECT_EQ(std::get<std::vector<float>>(file.settings.at("tokenizer.ggml.scores")).size(), words);
  EXPECT_EQ(std::get<std::vector<i32>>(file.settings.at("tokenizer.ggml.token_type")).size(),
            words);
  EXPECT_EQ(file.tensors.size(), 3 + 2 * 9u);
  EXPECT_EQ(file.tensors.at("token_embd.weight").dimensions, (std::vector<u64>{128, words}));
  EXPECT_EQ(file.tensors.at("blk.1.ffn_down.weight").dimensions, (std::vector<u64>{256, 128}));
  EXPECT_EQ(file.tensors.at("output_norm.weight").type, 0u);
}

TEST(TinyModel, HasNoWordTwice) {
  const ReadFile file = read(*gguf_of({}));
  Texts words = std::get<Texts>(file.settings.at("tokenizer.ggml.tokens"));
  std::sort(words.begin(), words.end());
  EXPECT_EQ(std::adjacent_find(words.begin(), words.end()), words.end());
}

TEST(TinyModel, NeverPrefersWhatIsNoText) {
  const ReadFile file = read(*gguf_of({}));
  const auto& kinds = std::get<std::vector<i32>>(file.settings.at("tokenizer.ggml.token_type"));
  const std::vector<float>& output = file.tensors.at("output.weight").values;
  for (std::size_t token = 0; token < kinds.size(); ++token) {
    const bool is_zero = std::all_of(output.begin() + static_cast<long>(token * 64),
                                     output.begin() + static_cast<long>(token * 64 + 64),
                                     [](float weight) { return weight == 0; });
    EXPECT_EQ(is_zero, kinds[token] != 1) << token;
  }
}

TEST(TinyModel, IsTheSameForTheSameSeedAndAnotherForAnother) {
  EXPECT_EQ(*gguf_of({64, 1, 5}), *gguf_of({64, 1, 5}));
  EXPECT_NE(*gguf_of({64, 1, 5}), *gguf_of({64, 1, 6}));
}

TEST(TinyModel, OfAWidthThatIsNoneIsRefused) {
  for (const TinyModel model :
       {TinyModel{0, 1, 1}, TinyModel{100, 1, 1}, TinyModel{64, 0, 1}, TinyModel{1 << 20, 1, 1}}) {
    EXPECT_EQ(gguf_of(model).error().code, EINVAL);
  }
}

TEST(ModelFile, IsKnownByItsFirstBytes) {
  const TemporaryDirectory folder;
  const auto file = [&](const std::string& content) {
    std::ofstream(folder.file("model")) << content;
    return folder.file("model");
  };
  EXPECT_TRUE(check_is_gguf(file(*gguf_of({}))));
  for (const char* content : {"", "GGU", "GGUF", "PK\3\4 and more", "<html> and more"}) {
    const auto status = check_is_gguf(file(content));
    ASSERT_FALSE(status) << content;
    EXPECT_EQ(status.error().code, EINVAL);
    EXPECT_NE(status.error().hint.find("--model"), std::string::npos);
  }
  EXPECT_EQ(check_is_gguf(folder.file("missing")).error().code, ENOENT);
  EXPECT_EQ(check_is_gguf(folder.path()).error().code, EISDIR);
}

}  // namespace
}  // namespace gp::llm
