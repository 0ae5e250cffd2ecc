// gpreemptd: online GPU work takes the GPU by itself, offline work gets it back. docs/scheduler.md
// says how the parts work together; this is the table of contents.
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/exit_code.h"
#include "base/log.h"
#include "config/config.h"
#include "daemon/daemon.h"
#include "daemon/guardian.h"
#include "daemon/options.h"
#include "daemon/runtime_directory.h"

namespace gp::daemon {
namespace {

// Each agent costs a few descriptors.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

int report(const Error& error) {
  log_error("{}", error.message());
  return exit_code_of(error);
}

// In the guardian's child. The lock on the directory is taken here: it ends with the daemon.
Status serve(const Options& options, Ward ward) {
  config::Config config = TRY(config::load(options.config));
  raise_descriptor_limit();
  RuntimeDirectory directory = TRY(claim_directory(options.socket));
  const auto daemon =
      TRY(Daemon::create(options.config, std::move(config), std::move(directory), std::move(ward)));
  TRY(daemon->recover());  // before anybody can connect: nobody stays stopped
  return daemon->run();
}

int run(const Options& options) {
  if (const auto config = config::load(options.config); !config) {
    return report(config.error());  // once, not by every child
  }
  const auto status = guard([&](Ward ward) {
    const Status served = serve(options, std::move(ward));
    return served ? 0 : report(served.error());
  });
  return status ? *status : report(status.error());
}

int main(int argc, char** argv) {
  ::umask(022);
  const Options options = parse_options(argc, argv);
  if (options.exit_code) {
    return *options.exit_code;
  }
  set_log_level(options.log_level);
  return run(options);
}

}  // namespace
}  // namespace gp::daemon

int main(int argc, char** argv) { return gp::daemon::main(argc, argv); }
