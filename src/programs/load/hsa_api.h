// ROCr, found at run time: one program for every release, also where none is installed, and for
// containers that bring their own.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

namespace gp::load {

#define GP_LOAD_HSA_FUNCTIONS(F)               \
  F(hsa_init)                                  \
  F(hsa_status_string)                         \
  F(hsa_system_get_info)                       \
  F(hsa_iterate_agents)                        \
  F(hsa_agent_get_info)                        \
  F(hsa_agent_iterate_isas)                    \
  F(hsa_isa_get_info_alt)                      \
  F(hsa_amd_agent_iterate_memory_pools)        \
  F(hsa_amd_memory_pool_get_info)              \
  F(hsa_amd_memory_pool_allocate)              \
  F(hsa_amd_memory_pool_free)                  \
  F(hsa_amd_memory_fill)                       \
  F(hsa_amd_agents_allow_access)               \
  F(hsa_code_object_reader_create_from_memory) \
  F(hsa_executable_create_alt)                 \
  F(hsa_executable_load_agent_code_object)     \
  F(hsa_executable_freeze)                     \
  F(hsa_executable_get_symbol_by_name)         \
  F(hsa_executable_symbol_get_info)            \
  F(hsa_queue_create)                          \
  F(hsa_queue_destroy)                         \
  F(hsa_amd_queue_set_priority)                \
  F(hsa_queue_add_write_index_relaxed)         \
  F(hsa_signal_create)                         \
  F(hsa_signal_store_relaxed)                  \
  F(hsa_signal_store_screlease)                \
  F(hsa_signal_wait_scacquire)

struct HsaApi {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared
#define GP_LOAD_MEMBER(function) decltype(&::function) function = nullptr;
  GP_LOAD_HSA_FUNCTIONS(GP_LOAD_MEMBER)
#undef GP_LOAD_MEMBER
};

// Loads libhsa-runtime64.so.1: where the linker finds it, in $ROCM_PATH/lib, in /opt/rocm/lib. Ends
// the program with status 3 and a hint if there is none.
const HsaApi& hsa();

// Ends the program with a message if a call failed: `what` says what could not be done.
void check(hsa_status_t status, const char* what);

// Ends the program. Another thread may be inside ROCr, so nothing is cleaned up: the kernel does.
[[noreturn]] void fail(int exit_status, const char* format, ...)
    __attribute__((format(printf, 2, 3)));

// The library that was loaded; its file name says which release it is.
const char* hsa_library_path();

}  // namespace gp::load
