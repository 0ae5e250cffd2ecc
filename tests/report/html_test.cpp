// Nothing that a name or a command line holds can end the text it stands in.
#include "report/html.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gp::report {
namespace {

std::string unescape(std::string_view text) {
  const std::pair<std::string_view, char> entities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&#39;", '\''}};
  std::string out;
  while (!text.empty()) {
    std::size_t length = 1;
    char c = text[0];
    for (const auto& [entity, meaning] : entities) {
      if (text.starts_with(entity)) {
        length = entity.size();
        c = meaning;
      }
    }
    out += c;
    text.remove_prefix(length);
  }
  return out;
}

RC_GTEST_PROP(Escape, NoByteOfTheResultHasAMeaningInHtml, (const std::string& text)) {
  const std::string escaped = escape(text);
  RC_ASSERT(escaped.find_first_of("<>\"'") == std::string::npos);
  for (std::size_t at = escaped.find('&'); at != std::string::npos;
       at = escaped.find('&', at + 1)) {
    const std::size_t end = escaped.find(';', at);
    RC_ASSERT(end != std::string::npos);
    const std::string entity = escaped.substr(at, end + 1 - at);
    RC_ASSERT(unescape(entity).size() == 1U);
  }
}

RC_GTEST_PROP(Escape, TextReadsAsBefore, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "a", "<", ">", "&", "\"", "'", "&amp;", "\n", "é", "漢", "🙂", "</script>", ";"));
  std::string text;
  for (const std::string& part : parts) {
    text += part;
  }
  RC_ASSERT(unescape(escape(text)) == text);
}

RC_GTEST_PROP(Escape, WhatIsNoUtf8BecomesUtf8, (const std::string& text)) {
  const std::string escaped = escape(text);
  RC_ASSERT(escape(unescape(escaped)) == escaped);
  for (const char c : escaped) {
    RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t');
  }
}

TEST(Escape, LongFormsSurrogatesAndHalfCharactersAreReplaced) {
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(escape("\xC0\xBC"), replaced + replaced) << "'<' in two bytes";
  EXPECT_EQ(escape("\xE0\x80\xBC"), replaced + replaced + replaced) << "'<' in three bytes";
  EXPECT_EQ(escape("\xED\xA0\x80"), replaced + replaced + replaced) << "a surrogate";
  EXPECT_EQ(escape("\xF4\x90\x80\x80"), replaced + replaced + replaced + replaced) << "beyond";
  EXPECT_EQ(escape("a\xC3"), "a" + replaced);
  EXPECT_EQ(escape(std::string_view("\0", 1)), replaced);
}

}  // namespace
}  // namespace gp::report
