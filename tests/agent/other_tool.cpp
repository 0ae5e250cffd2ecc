// Another tool of HSA_TOOLS_LIB, as a profiler is: has a hook of its own where the agent has one,
// and writes into a file what it has seen.
#define AMD_INTERNAL_BUILD  // as in agent/runtime.h
#include <hsa/hsa_api_trace.h>
#undef AMD_INTERNAL_BUILD

#include <cstdio>
#include <cstdlib>

namespace {

decltype(hsa_queue_create)* create_queue = nullptr;

void write(const char* what) {
  if (std::FILE* file = std::fopen(std::getenv("OTHER_TOOL_FILE"), "a")) {
    std::fprintf(file, "%s\n", what);
    std::fclose(file);
  }
}

hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                          void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                          uint32_t private_size, uint32_t group_size, hsa_queue_t** queue) {
  write("queue");
  return create_queue(agent, size, type, callback, data, private_size, group_size, queue);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) bool OnLoad(HsaApiTable* table, uint64_t,
                                                              uint64_t failed, const char* const*) {
  write(failed == 0 ? "load" : "load after a failure");
  create_queue = table->core_->hsa_queue_create_fn;
  table->core_->hsa_queue_create_fn = queue_create;
  return true;
}

extern "C" __attribute__((visibility("default"))) void OnUnload() { write("unload"); }
