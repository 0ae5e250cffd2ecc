// gpreempt run: starts a program with the agent in it. Nothing in the program changes: ROCr loads
// the agent because HSA_TOOLS_LIB names it, and the agent reads who the program is from GPREEMPT_*.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/arguments.h"
#include "base/exit_code.h"
#include "cli/commands.h"
#include "cli/tools_lib.h"
#include "client/client.h"

namespace gp::cli {
namespace {

void set_if(const char* name, const std::string& value) {
  if (!value.empty()) {
    ::setenv(name, value.c_str(), 1);
  }
}

void describe_in_environment(const RunOptions& options) {
  if (options.work_class) {
    ::setenv("GPREEMPT_CLASS", gp::name(*options.work_class), 1);
  }
  set_if("GPREEMPT_STREAM_CLASSES", options.streams ? "1" : "");
  if (options.priority) {
    ::setenv("GPREEMPT_PRIORITY", std::to_string(*options.priority).c_str(), 1);
  }
  set_if("GPREEMPT_TAG", options.tag);
  set_if("AMD_QUEUE_TAG", options.tag);  // where others look for it
  set_if("GPREEMPT_JOB", options.job);
  set_if("GPREEMPT_SOCKET", options.socket);
}

}  // namespace

int run(RunOptions options) {
  const Result<std::string> agent = find_agent();
  if (!agent) {
    return report_error(agent.error());
  }
  if (const auto daemon = wire::Client::connect(options.socket); !daemon) {
    std::fprintf(stderr,
                 "gpreempt: no daemon is running: nothing is stopped for %s\n"
                 "hint: start gpreemptd; the program is seen when it comes\n",
                 options.command.front().c_str());
  }
  describe_in_environment(options);
  const char* others = std::getenv("HSA_TOOLS_LIB");
  ::setenv("HSA_TOOLS_LIB", with_tool(others ? others : "", *agent).c_str(), 1);
  ::execvp(options.command.front().c_str(), argument_pointers(options.command).data());
  return report_not_started(options.command.front().c_str(), errno);
}

}  // namespace gp::cli
