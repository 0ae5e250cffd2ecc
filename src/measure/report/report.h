// Results kept, read back, and shown: results.json in a directory, and the page made from it.
#pragma once

#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "report/results.h"

namespace gp::report {

inline constexpr char kResultsFile[] = "results.json";
inline constexpr char kPageFile[] = "report.html";

// Writes DIRECTORY/results.json, making the directory if it is missing. Numbers that are not finite
// have no form in JSON and are refused: a measurement that failed is an empty optional.
Status write_results(const Results& results, const std::string& directory);

// Reads it back. A damaged file is an error that names the place: "phases[2].duration_s is
// missing".
Result<Results> read_results(const std::string& directory);

// One self-contained page: no network, nothing beside it.
Status write_html(const Results& results, const std::string& path);

// The result in one picture (SVG), for a README. An error if there are no latencies to show.
Status write_picture(const Results& results, const std::string& path);

// Results as JSON text.
Result<std::string> to_json(const Results& results);
Result<Results> from_json(std::string_view text);

}  // namespace gp::report
