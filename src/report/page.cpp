#include "report/page.h"

#include <fmt/format.h>

#include "report/files.h"
#include "report/headline.h"
#include "report/html.h"
#include "report/picture.h"
#include "report/report.h"
#include "report/sections.h"
#include "report/style.h"

namespace gp::report {
namespace {

constexpr char kEmulated[] =
    "<p class=\"notice\"><b>Virtual GPU: emulated time.</b> Programs, ROCm and gpreempt are the "
    "real ones; the GPU is emulated on this machine's processor. Compare the numbers with each "
    "other, never with hardware.</p>\n";

// Nothing is fetched: the policy forbids what the page does not need anyhow.
constexpr char kHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"/>
)";

std::string header(const Results& results) {
  const Environment& environment = results.environment;
  return fmt::format(
      "<header>\n<p class=\"brand\"><b>gpreempt</b><span>{}</span><span>{}</span></p>\n{}{}"
      "</header>\n",
      escape(environment.device), escape(environment.date), headline(results),
      environment.virtual_gpu ? kEmulated : "");
}

}  // namespace

std::string html_page(const Results& results) {
  std::string page = kHead;
  page += fmt::format("<title>gpreempt: {}</title>\n<style>{}</style>\n</head>\n<body>\n",
                      escape(results.environment.device), kStyle);
  page += header(results);
  page += "<main>\n";
  page += number_tiles(results);
  page += phase_table(results);
  for (const auto part : {verdict_section, latency_section, timeline_section, throughput_section,
                          scheme_section, advice_section, environment_section}) {
    page += part(results);
  }
  page += fmt::format(
      "</main>\n<footer>Made by gpreempt {} from results.json. This file needs no network.</footer>"
      "\n<script>{}</script>\n</body>\n</html>\n",
      escape(results.environment.gpreempt_version), kScript);
  return page;
}

Status write_html(const Results& results, const std::string& path) {
  return write_file(path, html_page(results));
}

Status write_picture(const Results& results, const std::string& path) {
  const std::string svg = picture(results);
  if (svg.empty()) {
    return Error{ENODATA, "these results have no latencies to draw", {}}.with_hint(
        "gpreempt demo measures some");
  }
  return write_file(path, svg);
}

}  // namespace gp::report
