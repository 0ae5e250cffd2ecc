// An answer means the same however it was cut on its way; one that breaks the rules is an error.
#include "llm/http_response.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cerrno>
#include <vector>

namespace gp::llm {
namespace {

struct Seen {
  std::optional<int> status;
  std::string body;
  bool complete = false;
  int error = 0;  // an errno
};

// The bytes in pieces that end at these places.
Seen take(const std::string& bytes, const std::vector<std::size_t>& cuts, bool ends) {
  HttpResponse response;
  Seen seen;
  std::size_t from = 0;
  const auto take_piece = [&](std::size_t to) {
    const Status status = response.take(std::string_view(bytes).substr(from, to - from));
    seen.error = status ? seen.error : status.error().code;
    seen.body += response.take_body();
    from = to;
    return static_cast<bool>(status);
  };
  for (const std::size_t cut : cuts) {
    if (cut > from && cut < bytes.size() && !take_piece(cut)) {
      return seen;
    }
  }
  if (take_piece(bytes.size()) && ends) {
    const Status status = response.end();
    seen.error = status ? 0 : status.error().code;
  }
  seen.status = response.status();
  seen.complete = response.is_complete();
  return seen;
}

const std::string kHead = "HTTP/1.1 200 OK\r\nServer: llama.cpp\r\n";
const std::string kChunked = kHead + "Transfer-Encoding: chunked\r\n\r\n";

const std::string kWhole[] = {
    kHead + "Content-Length: 11\r\n\r\nhello world",
    kHead + "content-length:11  \r\n\r\nhello world",
    kChunked + "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n",
    kChunked + "b;name=value\r\nhello world\r\n00\r\nTrailer: x\r\n\r\n",
    kHead + "TRANSFER-ENCODING: Chunked\r\n\r\nB\r\nhello world\r\n0\r\n\r\n",
};

TEST(HttpResponse, GivesTheBodyHoweverItIsSent) {
  for (const std::string& bytes : kWhole) {
    const Seen seen = take(bytes, {}, false);
    EXPECT_EQ(seen.status, 200) << bytes;
    EXPECT_EQ(seen.body, "hello world") << bytes;
    EXPECT_TRUE(seen.complete) << bytes;
  }
}

RC_GTEST_PROP(HttpResponse, MeansTheSameHoweverItIsCut, (std::vector<std::size_t> cuts)) {
  const std::string bytes =
      *rc::gen::elementOf(std::vector<std::string>(std::begin(kWhole), std::end(kWhole)));
  for (std::size_t& cut : cuts) {
    cut %= bytes.size();
  }
  std::sort(cuts.begin(), cuts.end());
  const Seen seen = take(bytes, cuts, true);
  RC_ASSERT(seen.complete);
  RC_ASSERT(seen.body == "hello world");
}

TEST(HttpResponse, WithoutALengthEndsWithTheConnection) {
  const Seen seen = take(kHead + "\r\nhello", {}, true);
  EXPECT_TRUE(seen.complete);
  EXPECT_EQ(seen.body, "hello");
  EXPECT_FALSE(take(kHead + "\r\nhello", {}, false).complete);
}

TEST(HttpResponse, WithoutABodyIsCompleteAtOnce) {
  EXPECT_TRUE(
      take("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", {}, false).complete);
}

RC_GTEST_PROP(HttpResponse, CutShortIsAnError, ()) {
  const std::string& bytes = kWhole[static_cast<std::size_t>(*rc::gen::inRange(0, 5))];
  const auto size =
      static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(bytes.size())));
  RC_ASSERT(take(bytes.substr(0, size), {}, true).error == EPROTO);
}

TEST(HttpResponse, ThatBreaksTheRulesIsAnError) {
  const std::string broken[] = {
      "hello\r\n\r\n",
      "HTTP/2 200 OK\r\n\r\n",
      "HTTP/1.1 20 OK\r\n\r\n",
      "HTTP/1.1 2000\r\n\r\n",
      "HTTP/1.1 abc\r\n\r\n",
      kHead + "a line without a colon\r\n\r\n",
      kHead + ": no name\r\n\r\n",
      kHead + "Content-Length: -1\r\n\r\n",
      kHead + "Content-Length: 99999999999999999999\r\n\r\n",
      kHead + "Content-Length: 4294967296\r\n\r\n",
      kHead + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
      kHead + "Content-Length: 2\r\n\r\nabc",
      kHead + "Transfer-Encoding: gzip\r\n\r\n",
      kChunked + "xyz\r\n",
      kChunked + "\r\n",
      kChunked + "ffffffffff\r\n",
      kChunked + "3\r\nhello\r\n",
      kChunked + "0\r\n\r\nmore",
      kChunked + std::string(5000, '1'),
      kChunked + "0\r\n" + std::string(5000, 'x'),
      kHead + "X: " + std::string(70000, 'x'),
  };
  for (const std::string& bytes : broken) {
    EXPECT_EQ(take(bytes, {}, false).error, EPROTO) << bytes.substr(0, 120);
  }
}

}  // namespace
}  // namespace gp::llm
