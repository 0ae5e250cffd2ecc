// A tool of HSA_TOOLS_LIB that makes the runtime's tables look like those of a release that does
// not exist: loaded before the agent, it has the agent meet what it does not know.
#include "agent/api_tables.h"

extern "C" __attribute__((visibility("default"))) bool OnLoad(gp::agent::RootTable* root,
                                                              unsigned long, unsigned long,
                                                              const char* const*) {
  constexpr gp::u32 kNoSuchMajor = 99;
  root->version.major_id = kNoSuchMajor;
  return true;
}
