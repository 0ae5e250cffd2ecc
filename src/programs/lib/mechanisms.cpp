// The table of mechanisms, and what a probe of one says.
#include <algorithm>
#include <iterator>

#include "lib/boundary.h"
#include "lib/context.h"

using namespace gp;
using namespace gp::lib;

namespace {

gpreempt_mechanism_info describe(const MechanismInfo& info) {
  gpreempt_mechanism_info out{};
  out.name = info.name;
  out.needs = info.needs;
  out.notes = info.notes;
  out.level = static_cast<uint32_t>(info.level);
  out.inside = info.place == Place::inside ? 1 : 0;
  out.by_default = info.by_default ? 1 : 0;
  out.whole_process = info.scope == Scope::process ? 1 : 0;
  return out;
}

template <std::size_t N>
void copy(const std::string& text, char (&to)[N]) {
  to[text.copy(to, N - 1)] = '\0';
}

gp::Result<gpreempt_probe_result> probe(const gpreempt_context& context, const char* name,
                                        pid_t pid, uint64_t start_time) {
  const auto id = TRY(mechanism_named(name));
  if (!id) {
    return gp::Error{EINVAL, "gpreempt_probe: no mechanism is named", ""};
  }
  const auto process = TRY(find_process(context, pid, start_time));
  const mechanism::Probe found = mechanism::probe(*id, process);
  gpreempt_probe_result out{};
  out.usable = found.usable ? 1 : 0;
  copy(found.reason, out.reason);
  copy(found.hint, out.hint);
  return out;
}

}  // namespace

ssize_t gpreempt_mechanism_count(void) { return std::ssize(kMechanisms); }

int gpreempt_mechanism(size_t index, gpreempt_mechanism_info* info) {
  return guarded([&]() -> int {
    if (index >= std::size(kMechanisms)) {
      return fail(ENOENT, "there are not so many mechanisms");
    }
    return write_answer(describe(kMechanisms[index]), info, "gpreempt_mechanism_info");
  });
}

int gpreempt_probe(gpreempt_context* context, const char* mechanism, pid_t pid, uint64_t start_time,
                   gpreempt_probe_result* result) {
  return guarded([&]() -> int {
    if (context == nullptr) {
      return fail(EINVAL, "gpreempt_probe: no context");
    }
    const gp::Result<gpreempt_probe_result> found = probe(*context, mechanism, pid, start_time);
    return found ? write_answer(*found, result, "gpreempt_probe_result") : fail(found.error());
  });
}
