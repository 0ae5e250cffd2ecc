// The functions of ROCr as they were before the agent put its own in their place. What the agent
// itself does with queues and signals goes through these, so that it works on whatever kind of
// queue another tool may have made of them.
#pragma once

// Makes the header include its neighbours from its own folder; the public form of the includes
// ("inc/...") matches no installation.
#define AMD_INTERNAL_BUILD
#include <hsa/hsa_api_trace.h>
#undef AMD_INTERNAL_BUILD

#include "libc/types.h"

namespace gp::agent {

struct Runtime {
  decltype(::hsa_queue_create)* queue_create = nullptr;
  decltype(::hsa_queue_destroy)* queue_destroy = nullptr;
  decltype(::hsa_queue_inactivate)* queue_inactivate = nullptr;
  decltype(::hsa_queue_load_read_index_scacquire)* load_read_index = nullptr;
  decltype(::hsa_queue_load_write_index_scacquire)* load_write_index = nullptr;
  decltype(::hsa_queue_cas_write_index_scacq_screl)* cas_write_index = nullptr;
  decltype(::hsa_agent_get_info)* agent_get_info = nullptr;
  decltype(::hsa_system_get_info)* system_get_info = nullptr;
  decltype(::hsa_signal_create)* signal_create = nullptr;
  decltype(::hsa_signal_destroy)* signal_destroy = nullptr;
  decltype(::hsa_signal_load_scacquire)* signal_load = nullptr;
  decltype(::hsa_signal_store_relaxed)* store_relaxed = nullptr;
  decltype(::hsa_signal_store_screlease)* store_screlease = nullptr;
  decltype(::hsa_signal_silent_store_relaxed)* silent_store_relaxed = nullptr;
  decltype(::hsa_signal_silent_store_screlease)* silent_store_screlease = nullptr;
  decltype(::hsa_amd_queue_set_priority)* set_priority = nullptr;
  decltype(::hsa_amd_signal_async_handler)* signal_async_handler = nullptr;
  decltype(::hsa_amd_queue_intercept_create)* intercept_create = nullptr;
  decltype(::hsa_amd_queue_intercept_register)* intercept_register = nullptr;
};

extern Runtime runtime;  // set by OnLoad before any hook can run

}  // namespace gp::agent
