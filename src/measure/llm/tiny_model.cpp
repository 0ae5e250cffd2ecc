#include "llm/tiny_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <random>
#include <string_view>
#include <vector>

#include "llm/gguf.h"

namespace gp::llm {
namespace {

constexpr u32 kHeadWidth = 64, kMostWidth = 8192;
constexpr u32 kContext = 512;  // tokens that it can look back on
constexpr u32 kUnknown = 0, kBegin = 1, kEnd = 2;

// llama.cpp's LLAMA_TOKEN_TYPE_*.
enum TokenKind : i32 { kNormal = 1, kUnknownToken = 2, kControl = 3, kByte = 6 };

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<i32> kinds;

  void add(std::string token, TokenKind kind) {
    // Of two ways to cut a text, the one with higher scores is taken.
    scores.push_back(-static_cast<float>(tokens.size()));
    tokens.push_back(std::move(token));
    kinds.push_back(kind);
  }
};

// As SentencePiece has it: special tokens, one for each byte, so that every text can be cut into
// tokens, letters, and words.
Vocabulary make_vocabulary() {
  constexpr std::size_t kSize = 512;
  constexpr std::string_view kSpace = "\u2581", kConsonants = "bdfghklmnprstvz", kVowels = "aeiou";
  Vocabulary words;
  words.add("<unk>", kUnknownToken);
  words.add("<s>", kControl);
  words.add("</s>", kControl);
  for (unsigned byte = 0; byte < 256; ++byte) {
    words.add(fmt::format("<0x{:02X}>", byte), kByte);
  }
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    words.add(std::string(1, letter), kNormal);
  }
  for (std::size_t i = 0; words.tokens.size() < kSize; ++i) {
    std::string word(kSpace);
    for (std::size_t rest = i + 1; rest > 0; rest /= kConsonants.size() * kVowels.size()) {
      word += kConsonants[rest % kConsonants.size()];
      word += kVowels[rest / kConsonants.size() % kVowels.size()];
    }
    words.add(std::move(word), kNormal);
  }
  return words;
}

class Weights {
 public:
  explicit Weights(u32 seed) : generator_(seed) {}
  // Evenly from -limit to limit. Written out: the standard library's distributions differ between
  // implementations.
  std::vector<float> random(u64 count, float limit) {
    std::vector<float> values(count);
    for (float& value : values) {
      value = limit * std::ldexp(static_cast<float>(static_cast<i32>(generator_())), -31);
    }
    return values;
  }

 private:
  std::mt19937 generator_;
};

void describe(const TinyModel& model, u32 inner_width, const Vocabulary& vocabulary,
              GgufFile& file) {
  const u32 heads = model.width / kHeadWidth;
  file.set("general.architecture", "llama");
  file.set("general.name", fmt::format("random weights, seed {}", model.seed));
  file.set("general.file_type", u32{1});  // mostly F16
  file.set("llama.context_length", kContext);
  file.set("llama.embedding_length", model.width);
  file.set("llama.block_count", model.layers);
  file.set("llama.feed_forward_length", inner_width);
  file.set("llama.attention.head_count", heads);
  file.set("llama.attention.head_count_kv", heads);
  file.set("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  file.set("llama.rope.dimension_count", kHeadWidth);
  file.set("llama.vocab_size", static_cast<u32>(vocabulary.tokens.size()));
  file.set("tokenizer.ggml.model", "llama");
  file.set("tokenizer.ggml.tokens", vocabulary.tokens);
  file.set("tokenizer.ggml.scores", vocabulary.scores);
  file.set("tokenizer.ggml.token_type", vocabulary.kinds);
  file.set("tokenizer.ggml.unknown_token_id", kUnknown);
  file.set("tokenizer.ggml.bos_token_id", kBegin);
  file.set("tokenizer.ggml.eos_token_id", kEnd);
  file.set("tokenizer.ggml.add_bos_token", true);
}

void add_layer(u32 number, u64 width, u64 inner_width, Weights& weights, GgufFile& file) {
  const std::vector<float> ones(width, 1);
  const auto add = [&](const char* name, u64 inputs, u64 outputs) {
    // Such that sums stay about as large as their terms.
    const float limit = std::sqrt(3 / static_cast<float>(inputs));
    file.add_tensor(fmt::format("blk.{}.{}.weight", number, name), {inputs, outputs},
                    GgufElement::f16, weights.random(inputs * outputs, limit));
  };
  file.add_tensor(fmt::format("blk.{}.attn_norm.weight", number), {width}, GgufElement::f32, ones);
  add("attn_q", width, width);
  add("attn_k", width, width);
  add("attn_v", width, width);
  add("attn_output", width, width);
  file.add_tensor(fmt::format("blk.{}.ffn_norm.weight", number), {width}, GgufElement::f32, ones);
  add("ffn_gate", width, inner_width);
  add("ffn_up", width, inner_width);
  add("ffn_down", inner_width, width);
}

// Only tokens that are text by themselves are ever likely: a byte of a character that is not whole
// would be kept back by the server, and its time be that of the next token.
std::vector<float> output_weights(u64 width, const Vocabulary& vocabulary, Weights& weights) {
  std::vector<float> values = weights.random(width * vocabulary.tokens.size(),
                                             4 * std::sqrt(3 / static_cast<float>(width)));
  for (std::size_t token = 0; token < vocabulary.tokens.size(); ++token) {
    if (vocabulary.kinds[token] != kNormal) {
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(token * width), width, 0.0F);
    }
  }
  return values;
}

}  // namespace

Result<std::string> gguf_of(const TinyModel& model) {
  if (model.width == 0 || model.width % kHeadWidth != 0 || model.width > kMostWidth ||
      model.layers == 0) {
    return Error{
        EINVAL, fmt::format("a model of width {} and {} layers", model.width, model.layers),
        fmt::format("a multiple of {} to {}, and 1 layer or more", kHeadWidth, kMostWidth)};
  }
  const u64 width = model.width, inner_width = 2 * width;
  const Vocabulary vocabulary = make_vocabulary();
  Weights weights(model.seed);
  GgufFile file;
  describe(model, static_cast<u32>(inner_width), vocabulary, file);
  file.add_tensor("token_embd.weight", {width, vocabulary.tokens.size()}, GgufElement::f16,
                  weights.random(width * vocabulary.tokens.size(), 1));
  for (u32 layer = 0; layer < model.layers; ++layer) {
    add_layer(layer, width, inner_width, weights, file);
  }
  file.add_tensor("output_norm.weight", {width}, GgufElement::f32, std::vector<float>(width, 1));
  file.add_tensor("output.weight", {width, vocabulary.tokens.size()}, GgufElement::f16,
                  output_weights(width, vocabulary, weights));
  return file.bytes();
}

}  // namespace gp::llm
