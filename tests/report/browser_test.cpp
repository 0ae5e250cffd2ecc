// The page in a real browser: with and without script, on a desktop and on a phone. Chromium is a
// package of 350 MB, so it is used where it is installed and not asked for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "report/page.h"
#include "report/report.h"
#include "report/results_support.h"
#include "support/temporary_directory.h"

namespace gp::report {
namespace {

class Browser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("chromium --version > /dev/null 2>&1") != 0) {
      GTEST_SKIP() << "chromium is not installed";
    }
    ASSERT_TRUE(write_file(directory + "/report.html", html_page(demo_results())));
  }
  // The document as the browser has it when all is loaded, and what its console says.
  std::string document(const std::string& file, const std::string& options = "") {
    const std::string command = fmt::format(
        "timeout 60 chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars "
        "--enable-logging=stderr "
        "--allow-file-access-from-files --user-data-dir={0}/profile {1} --dump-dom "
        "file://{0}/{2} 2> {0}/log",
        directory, options, file);
    std::string text;
    std::FILE* pipe = ::popen(command.c_str(), "r");
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) {
      text += static_cast<char>(c);
    }
    EXPECT_EQ(::pclose(pipe), 0);
    log = *read_file(directory + "/log");
    return text;
  }
  // What an expression about the page's document says, in a frame of that width. `sandbox` forbids
  // the page its script.
  std::string asked(const std::string& expression, int width, const char* sandbox = "") {
    EXPECT_TRUE(write_file(
        directory + "/frame.html",
        fmt::format("<iframe src='report.html' style='width:{}px;border:0' {} onload=\"var page = "
                    "contentDocument; document.title = {}\"></iframe>",
                    width, sandbox, expression)));
    const std::string text = document("frame.html");
    const std::size_t start = text.find("<title>");
    return start == std::string::npos ? text
                                      : text.substr(start + 7, text.find("</title>") - start - 7);
  }
  const TemporaryDirectory temporary_;
  const std::string directory = temporary_.path();
  std::string log;
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST_F(Browser, TheScriptOffersToZoomEachTimelineAndHasNoErrors) {
  const std::string text = document("report.html");
  EXPECT_EQ(count(text, "<div class=\"zoom\">"), 2U);
  EXPECT_GT(count(text, "class=\"tick middle\""), 20U);
  EXPECT_EQ(log.find("CONSOLE"), std::string::npos) << log;
}

TEST_F(Browser, ZoomingInShowsAThirdOfTheTimeWithTicksOfItsOwn) {
  EXPECT_EQ(asked("(page.querySelector('.zoom button').click(), "
                  "page.querySelector('svg.lanes').getAttribute('viewBox').split('.')[0] + ' ' + "
                  "page.querySelector('.zoom small').textContent + ' ' + "
                  "page.querySelector('.ticks text').textContent)",
                  1000),
            "333333 5 s shown 5 s");
}

TEST_F(Browser, WithoutScriptAllPicturesAreThere) {
  const char* pictures =
      "page.querySelectorAll('.zoom').length + ' ' + page.querySelectorAll('svg').length + ' ' + "
      "(page.querySelectorAll('.tick').length > 20)";
  EXPECT_EQ(asked(pictures, 1000), "2 11 true");
  EXPECT_EQ(asked(pictures, 1000, "sandbox='allow-same-origin'"), "0 11 true");
}

TEST_F(Browser, NothingSticksOutOnAnyScreen) {
  for (const int width : {320, 390, 700, 1000}) {
    EXPECT_EQ(asked("page.documentElement.scrollWidth", width), std::to_string(width));
  }
}

}  // namespace
}  // namespace gp::report
