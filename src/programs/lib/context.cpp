#include "lib/context.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>

#include "lib/boundary.h"

namespace gp::lib {
namespace {

constexpr u32 kHighestPriority = 15;

Result<gpreempt_context> make_context(const gpreempt_open_options* given) {
  const gpreempt_open_options options = TRY(read_options(given, "gpreempt_open_options"));
  gpreempt_context context;
  context.classes = TRY(discover::class_config_from_environment());
  if (options.online_from != 0) {
    context.classes.online_from = options.online_from;
  }
  if (options.offline_to != 0) {
    context.classes.offline_to = options.offline_to;
  }
  if (context.classes.online_from > kHighestPriority ||
      context.classes.offline_to >= context.classes.online_from) {
    return Error{EINVAL,
                 fmt::format("offline up to priority {}, online from {}",
                             context.classes.offline_to, context.classes.online_from),
                 "offline_to < online_from <= 15"};
  }
  if (options.sysfs != nullptr || options.debugfs != nullptr) {
    context.paths.live = false;
    context.paths.sysfs = options.sysfs != nullptr ? options.sysfs : "";
    context.paths.debugfs = options.debugfs != nullptr ? options.debugfs : "";
    context.paths.proc = "";
  }
  context.scheduler = std::make_unique<Scheduler>(options.socket != nullptr ? options.socket : "");
  return context;
}

}  // namespace

std::optional<WorkClass> work_class_of(u32 number) {
  switch (number) {
    case GPREEMPT_CLASS_OFFLINE: return WorkClass::offline;
    case GPREEMPT_CLASS_NORMAL: return WorkClass::normal;
    case GPREEMPT_CLASS_ONLINE: return WorkClass::online;
    default: return std::nullopt;
  }
}

u32 number_of(WorkClass work_class) {
  switch (work_class) {
    case WorkClass::offline: return GPREEMPT_CLASS_OFFLINE;
    case WorkClass::normal: return GPREEMPT_CLASS_NORMAL;
    case WorkClass::online: return GPREEMPT_CLASS_ONLINE;
  }
  return 0;
}

u32 number_of(discover::QueueType type) {
  switch (type) {
    case discover::QueueType::compute: return GPREEMPT_QUEUE_COMPUTE;
    case discover::QueueType::sdma: return GPREEMPT_QUEUE_SDMA;
    case discover::QueueType::sdma_xgmi: return GPREEMPT_QUEUE_SDMA_XGMI;
    case discover::QueueType::unknown: break;
  }
  return GPREEMPT_QUEUE_UNKNOWN;
}

Result<std::optional<Mechanism>> mechanism_named(const char* name) {
  if (name == nullptr) {
    return std::optional<Mechanism>{};
  }
  if (const MechanismInfo* info = find_mechanism(name)) {
    return std::optional{info->mechanism};
  }
  std::string names;
  for (const MechanismInfo& info : kMechanisms) {
    names += names.empty() ? "" : ", ";
    names += info.name;
  }
  return Error{EINVAL, fmt::format("mechanism '{}'", name), "there are: " + names};
}

Result<ProcessKey> find_process(const gpreempt_context& context, pid_t pid, u64 start_time) {
  if (pid <= 0) {
    return Error{ESRCH, fmt::format("process {}", pid), "a pid is positive"};
  }
  const auto key = TRY(discover::process_key(system_os(), context.paths, pid));
  if (start_time != 0 && start_time != key.start_time) {
    return Error{ESRCH, fmt::format("process {} that started at {}", pid, start_time),
                 "it has ended; its pid belongs to another process now"};
  }
  return key;
}

}  // namespace gp::lib

using gp::lib::fail;
using gp::lib::guarded;

uint32_t gpreempt_version(void) { return GPREEMPT_VERSION; }

const char* gpreempt_version_text(void) { return GPREEMPT_PROJECT_VERSION; }

const char* gpreempt_error_text(void) { return gp::lib::error_text(); }

const char* gpreempt_error_hint(void) { return gp::lib::error_hint(); }

int gpreempt_open(const gpreempt_open_options* options, gpreempt_context** context) {
  return guarded([&]() -> int {
    if (context == nullptr) {
      return fail(EINVAL, "gpreempt_open: no place for the context");
    }
    gp::Result<gpreempt_context> made = gp::lib::make_context(options);
    if (!made) {
      return fail(made.error());
    }
    *context = new gpreempt_context(std::move(*made));
    return 0;
  });
}

void gpreempt_close(gpreempt_context* context) {
  if (context == nullptr) {
    return;
  }
  guarded([&]() -> int {
    if (context->leases->is_of_this_process()) {
      context->leases->close();
    }
    return 0;
  });
  delete context;
}
