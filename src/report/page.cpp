// The page as a whole.
#include <fmt/format.h>

#include "report/files.h"
#include "report/html.h"
#include "report/report.h"

namespace gp::report {

Status write_html(const Results& results, const std::string& path) {
  std::string rows;
  for (const Phase& phase : results.phases) {
    rows += fmt::format("<tr><th>{}</th><td>{} requests</td><td>{} preemptions</td></tr>\n",
                        escape(phase.name), phase.online_latency_ms.size(), phase.preemptions);
  }
  return write_file(path,
                    fmt::format("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">"
                                "\n<title>gpreempt</title>\n<h1>{}</h1>\n<table>{}</table>\n",
                                escape(results.environment.device), rows));
}

}  // namespace gp::report
