// The page: whole whatever the results are, and saying what it must.
#include "report/page.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "report/results_support.h"

namespace gp::report {
namespace {

// The first thing wrong with the nesting of tags; empty if all is well. The page is written so
// that XML's rules hold, apart from the document type.
std::string nesting_error(std::string_view page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const std::string tag(page.substr(at + 1, page.find('>', at) - at - 1));
    const std::string name =
        tag.substr(tag.starts_with('/') ? 1 : 0,
                   tag.find_first_of(" \n/", 1) - (tag.starts_with('/') ? 1 : 0));
    if (tag.starts_with('!') || tag.ends_with('/')) {
      continue;
    }
    if (!tag.starts_with('/')) {
      open.push_back(name);
      if (name == "style" || name == "script") {  // raw text up to its end
        at = page.find("</", at) - 1;
      }
    } else if (open.empty() || open.back() != name) {
      return tag + " closes " + (open.empty() ? "nothing" : open.back());
    } else {
      open.pop_back();
    }
  }
  return open.empty() ? "" : open.back() + " stays open";
}

// Coordinates that no browser understands.
bool has_bad_number(const std::string& page) {
  const std::size_t body = page.find("</style>");
  const std::string shown = page.substr(body, page.find("<script>") - body);
  for (const char* start : {"=\"", "M", "H", "V", " "}) {
    for (const char* bad : {"nan", "-nan", "inf", "-inf"}) {
      const std::size_t found = shown.find(std::string(start) + bad);
      if (found != std::string::npos) {
        return true;
      }
    }
  }
  return false;
}

bool contains(const std::string& page, const std::string& part) {
  return page.find(part) != std::string::npos;
}

RC_GTEST_PROP(Page, IsWellFormedWhateverTheResults, ()) {
  const std::string page = html_page(any_results());
  RC_ASSERT(nesting_error(page) == "");
  RC_ASSERT(!has_bad_number(page));
}

TEST(Page, WithoutAnyResultsIsStillAPage) {
  const std::string page = html_page({});
  EXPECT_EQ(nesting_error(page), "");
  EXPECT_FALSE(contains(page, "<svg"));
}

TEST(Page, NamesAreTextNotMarkup) {
  Results results = demo_results();
  results.environment.command = "demo '<script>alert(1)</script>'";
  results.phases[0].name = "<img src=x onerror=alert(1)>";
  results.phases[3].timeline[0].track = "\"><b>";
  results.criteria[0].what = "</td><b>";
  results.schemes[0].mechanism = "</svg><b>";
  const std::string page = html_page(results);
  EXPECT_EQ(nesting_error(page), "");
  EXPECT_FALSE(contains(page, "<script>alert"));
  EXPECT_FALSE(contains(page, "<img"));
  EXPECT_FALSE(contains(page, "</svg><b>"));
}

TEST(Page, NeedsNoNetwork) {
  const std::string page = html_page(demo_results());
  EXPECT_FALSE(contains(page, "src="));
  EXPECT_FALSE(contains(page, "<link"));
  EXPECT_FALSE(contains(page, "url("));
  EXPECT_FALSE(contains(page, "@import"));
  EXPECT_TRUE(contains(page, "default-src 'none'"));
}

TEST(Page, SaysThatTimeIsEmulatedExactlyWhereItIs) {
  Results results = demo_results();
  EXPECT_TRUE(contains(html_page(results), "Virtual GPU: emulated time"));
  results.environment.virtual_gpu = false;
  EXPECT_FALSE(contains(html_page(results), "emulated"));
}

TEST(Page, ACriterionThatIsNotMetOrNotMeasuredSaysSo) {
  const std::string page = html_page(demo_results());
  EXPECT_TRUE(contains(page, "4 of 6 criteria met"));
  EXPECT_TRUE(contains(page, "✗ not met"));
  EXPECT_TRUE(contains(page, "✗ not measured"));
  EXPECT_TRUE(contains(page, "7.3 %"));
}

TEST(Page, APhaseWithoutLatenciesShowsThemAsUnknown) {
  Results results;
  results.phases.emplace_back();
  results.phases[0].name = kOfflineAlone;
  const std::string page = html_page(results);
  EXPECT_TRUE(contains(page, "N/A"));
  EXPECT_FALSE(contains(page, "0 ms"));
}

TEST(Page, EachPreemptionIsVisible) {
  const Results results = demo_results();
  const std::string page = html_page(results);
  std::size_t stops = 0;
  for (std::size_t at = page.find("class=\"mark stopped\""); at != std::string::npos;
       at = page.find("class=\"mark stopped\"", at + 1)) {
    ++stops;
  }
  EXPECT_GE(stops, results.phases[3].preemptions);
}

TEST(Page, AMomentHasAWidthWithoutWhichNoBrowserWouldDrawIt) {
  Results results = demo_results();
  results.phases[3].timeline.push_back({"scheduler", "failed", 1000, 1000});
  const std::string page = html_page(results);
  const std::size_t start = page.find("class=\"mark failed\"");
  ASSERT_NE(start, std::string::npos);
  EXPECT_TRUE(contains(page.substr(start, page.find('>', start) - start), "width=\"0.1\""));
}

TEST(Page, AWayToStopThatIsNotAvailableSaysWhy) {
  EXPECT_TRUE(contains(html_page(demo_results()), "the driver lacks the patched ioctls"));
}

RC_GTEST_PROP(Picture, IsWellFormedWhateverTheResults, ()) {
  Results results = any_results();
  results.phases.push_back(demo_results().phases.back());  // so that there is something to draw
  const std::string svg = picture(results);
  RC_ASSERT(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  RC_ASSERT(nesting_error(svg) == "");
  RC_ASSERT(!has_bad_number(svg));
}

TEST(Picture, ShowsThePhasesAndOnePreemptionAndWhereItWasMeasured) {
  const std::string svg = picture(demo_results());
  for (const char* part : {"Online alone", "Both, without gpreempt", "Both, with gpreempt",
                           "One preemption from near", "virtual GPU"}) {
    EXPECT_TRUE(contains(svg, part)) << part;
  }
}

TEST(Picture, OfResultsWithoutLatenciesIsEmpty) {
  Results results = demo_results();
  for (Phase& phase : results.phases) {
    phase.online_latency_ms.clear();
  }
  EXPECT_EQ(picture(results), "");
}

TEST(Page, ShowsTheTokensOfALanguageModelAndWhetherItsTextsAreTheSame) {
  Results results = demo_results();
  EXPECT_TRUE(token_section(results).empty()) << "no model, no tokens";
  results.phases[0].tokens = Tokens{{12}, {3, 4}, true};
  results.phases.back().tokens = Tokens{{15}, {5, 250}, false};
  const std::string section = token_section(results);
  for (const char* text : {"12.0 ms", "250 ms", ">yes<", ">no<"}) {
    EXPECT_NE(section.find(text), std::string::npos) << text << "\n" << section;
  }
  EXPECT_EQ(nesting_error(html_page(results)), "");
}

}  // namespace
}  // namespace gp::report
