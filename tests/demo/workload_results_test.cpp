// What is concluded from the files of the two workloads.
#include "demo/workload_results.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

#include "demo/phases.h"
#include "demo/scratch_directory.h"

namespace gp::demo {
namespace {

const Training kUndisturbed = {0, {{1, 100, "a"}, {2, 200, "b"}, {3, 300, "c"}}};

TEST(SameResults, ComparesEveryStepThatBothReported) {
  EXPECT_EQ(same_results({0, {{2, 900, "b"}, {4, 950, "d"}}}, kUndisturbed), true);
  EXPECT_EQ(same_results({0, {{1, 900, "a"}, {2, 950, "x"}}}, kUndisturbed), false);
  EXPECT_EQ(same_results({0, {{1, 900, "x"}, {2, 950, "b"}}}, kUndisturbed), false);
}

TEST(SameResults, AreUnknownWithoutACommonStep) {
  EXPECT_EQ(same_results({0, {{7, 900, "g"}}}, kUndisturbed), std::nullopt);
}

TEST(StepsPerSecond, CountOnlyWhatLiesInTheWindow) {
  const Training training = {0,
                             {{1, 1'000'000, ""},
                              {2, 2'000'000, ""},
                              {6, 3'000'000, ""},
                              {10, 4'000'000, ""},
                              {11, 9'000'000, ""}}};
  EXPECT_DOUBLE_EQ(*steps_per_second(training, 2'000'000, 4'500'000), 4);
  EXPECT_FALSE(steps_per_second(training, 2'500'000, 3'500'000)) << "one report is no duration";
  EXPECT_FALSE(steps_per_second(training, 5'000'000, 6'000'000));
}

class WorkloadFile : public testing::Test {
 protected:
  void SetUp() override {
    auto scratch = ScratchDirectory::create();
    ASSERT_TRUE(scratch);
    scratch_.emplace(std::move(*scratch));
  }
  std::string file(const std::string& text) const {
    std::ofstream(scratch_->file("file")) << text;
    return scratch_->file("file");
  }
  std::optional<ScratchDirectory> scratch_;
};

TEST_F(WorkloadFile, OfATrainerIsReadBack) {
  const auto training = read_training(file(R"({"schema_version": 1, "start_us": 5, "trail":
      [{"step": 1, "time_us": 10, "loss": 0.5, "checksum": "ab"}]})"));
  ASSERT_TRUE(training);
  EXPECT_EQ(training->start_us, 5u);
  ASSERT_EQ(training->trail.size(), 1u);
  EXPECT_EQ(training->trail[0].checksum, "ab");
}

TEST_F(WorkloadFile, ThatIsDamagedIsAnError) {
  for (const char* text : {"", "{", "[]", R"({"start_us": 1})", R"({"start_us": "x", "trail": []})",
                           R"({"start_us": 1, "trail": [{"step": 1}]})"}) {
    const auto training = read_training(file(text));
    ASSERT_FALSE(training) << text;
    EXPECT_EQ(training.error().code, EPROTO) << text;
  }
  EXPECT_EQ(read_serving(scratch_->file("missing")).error().code, ENOENT);
}

TEST(PhaseOf, TimesCountFromTheServersStart) {
  Measured measured;
  measured.serving = Serving{1'000'000, {{0, 2'000}, {500'000, 4'000}}, "5.2"};
  measured.training = Training{
      200'000,
      {{1, 1'100'000, "a"}, {2, 1'200'000, "b"}, {3, 1'300'000, "c"}, {4, 2'000'000, "d"}}};
  const auto phase = phase_of(kBothWithout, measured, {kUndisturbed, {}});
  ASSERT_TRUE(phase) << phase.error().message();
  EXPECT_DOUBLE_EQ(phase->duration_s, 0.504);
  EXPECT_EQ(phase->online_arrival_ms, (std::vector<double>{0, 500}));
  EXPECT_EQ(phase->online_latency_ms, (std::vector<double>{2, 4}));
  EXPECT_DOUBLE_EQ(*phase->offline_steps_per_s, 10);
  EXPECT_EQ(phase->checksum_ok, true);
  const report::Span& offline = phase->timeline.back();
  EXPECT_EQ(offline.track, "offline");
  EXPECT_EQ(offline.start_us, 0u) << "it ran before, too, but that is not part of the phase";
  EXPECT_EQ(offline.end_us, 504'000u);
}

// As gpreempt-llm-client writes it: two tokens each.
constexpr char kAnswers[] = R"({"schema_version": 1, "start_us": 1000, "requests": [
    {"arrival_us": 0, "latency_us": 5000, "token_us": [3000, 5000], "tokens": [7, 8],
     "text": "a b"},
    {"arrival_us": 9000, "latency_us": 4000, "token_us": [1000, 4000], "tokens": [9, 7],
     "text": "c a"}]})";

TEST_F(WorkloadFile, OfALanguageModelHasTokensAndTexts) {
  const auto serving = read_serving(file(kAnswers));
  ASSERT_TRUE(serving);
  Measured measured;
  measured.serving = *serving;
  const auto phase = phase_of(kOnlineAlone, measured, {{}, *serving});
  ASSERT_TRUE(phase && phase->tokens);
  EXPECT_EQ(phase->tokens->first_ms, (std::vector<double>{3, 1}));
  EXPECT_EQ(phase->tokens->next_ms, (std::vector<double>{2, 3}));
  EXPECT_EQ(phase->tokens->texts_equal, true);
  EXPECT_EQ(phase->online_latency_ms, (std::vector<double>{5, 4}));
}

TEST_F(WorkloadFile, OfAnExampleHasNoTokens) {
  Measured measured;
  measured.serving = Serving{0, {{0, 10}}, "5.2"};
  const auto phase = phase_of(kOnlineAlone, measured, {{}, measured.serving});
  ASSERT_TRUE(phase);
  EXPECT_FALSE(phase->tokens);
}

TEST_F(WorkloadFile, AnswersDifferIfOneTokenOrOneLetterDoes) {
  const Serving alone = *read_serving(file(kAnswers));
  EXPECT_EQ(same_answers(alone, alone), true);
  Serving other = alone;
  other.requests[1].tokens[1] = 6;
  EXPECT_EQ(same_answers(other, alone), false);
  other = alone;
  other.requests[0].text = "a c";
  EXPECT_EQ(same_answers(other, alone), false);
  EXPECT_EQ(same_answers({}, alone), std::nullopt) << "nothing to compare";
}

TEST(PhaseOf, ATrainerWithoutAStepIsAnError) {
  Measured measured;
  measured.training = Training{1, {}};
  EXPECT_FALSE(phase_of(kOfflineAlone, measured, {}));
}

}  // namespace
}  // namespace gp::demo
