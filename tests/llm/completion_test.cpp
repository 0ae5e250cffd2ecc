// What llama-server is asked, and what its events mean.
#include "llm/completion.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cerrno>
#include <nlohmann/json.hpp>

namespace gp::llm {
namespace {

const std::string kStream =
    "data: {\"index\":0,\"content\":\" lo\",\"tokens\":[410],\"stop\":false}\r\n\r\n"
    ": still there\n\n"
    "data:{\"content\":\"d\\u00e9\",\"tokens\":[262],\"stop\":false}\n\n"
    "data: {\"content\":\"\",\"tokens\":[],\"stop\":true,\"timings\":{}}\n\n";

TEST(Question, IsForAWholeAnswerThatIsComputedAnew) {
  const auto body = nlohmann::json::parse(body_of({"a \"quoted\" \xff word", 7, 3}));
  EXPECT_EQ(body.at("n_predict"), 7);
  EXPECT_EQ(body.at("seed"), 3);
  EXPECT_EQ(body.at("ignore_eos"), true);
  EXPECT_EQ(body.at("cache_prompt"), false);
  EXPECT_EQ(body.at("stream"), true);
}

RC_GTEST_PROP(Events, MeanTheSameHoweverTheyAreCut, ()) {
  EventStream stream;
  std::string text;
  std::vector<i64> tokens;
  int last = 0;
  for (std::size_t from = 0; from < kStream.size();) {
    const auto size = static_cast<std::size_t>(*rc::gen::inRange(1, 40));
    const auto events = stream.take(std::string_view(kStream).substr(from, size));
    RC_ASSERT(static_cast<bool>(events));
    for (const Event& event : *events) {
      text += event.text;
      tokens.insert(tokens.end(), event.tokens.begin(), event.tokens.end());
      last += event.last;
    }
    from += size;
  }
  RC_ASSERT(text == " lod\u00e9");
  RC_ASSERT(tokens == (std::vector<i64>{410, 262}));
  RC_ASSERT(last == 1);
}

TEST(Events, OfAnOlderServerHaveNoTokens) {
  const auto events = EventStream().take("data: {\"content\":\"x\",\"stop\":false}\n");
  ASSERT_TRUE(events);
  EXPECT_EQ(events->at(0).text, "x");
  EXPECT_TRUE(events->at(0).tokens.empty());
}

TEST(Events, ThatTellOfAnErrorAreOneInItsWords) {
  for (const char* text : {"data: {\"error\":{\"code\":500,\"message\":\"out of luck\"}}\n",
                           "error: {\"code\":500,\"message\":\"out of luck\"}\n"}) {
    const auto events = EventStream().take(text);
    ASSERT_FALSE(events) << text;
    EXPECT_EQ(events.error().code, EREMOTEIO);
    EXPECT_NE(events.error().what.find("out of luck"), std::string::npos);
  }
}

TEST(Events, ThatAreNoneAreAnError) {
  for (const std::string& text :
       {std::string("<html>\n"), std::string("data: {\n"), std::string("data: []\n"),
        std::string("data: {\"content\":1,\"stop\":false}\n"),
        std::string("data: {\"content\":\"x\"}\n"),
        std::string("data: {\"content\":\"x\",\"tokens\":\"no\",\"stop\":false}\n"),
        "data: " + std::string(2 << 20, ' ')}) {
    const auto events = EventStream().take(text);
    ASSERT_FALSE(events) << text.substr(0, 80);
    EXPECT_EQ(events.error().code, EPROTO) << text.substr(0, 80);
  }
}

}  // namespace
}  // namespace gp::llm
