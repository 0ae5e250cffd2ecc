// What the agent adds to a store to a signal, in isolation: the real library with a runtime that is
// made up here, whose own store does nothing. Run under `vgpu run`; prints JSON.
//
//   unwatched_ns  a doorbell, and no daemon wants to know
//   other_ns      a signal that is no doorbell, while the process is watched
//   busy_ns       a doorbell of a process that is busy already
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "abi/aql.h"
#include "agent/runtime.h"
#include "base/socket.h"
#include "wire/page.h"
#include "wire/wire.h"

namespace {

constexpr int kStores = 1'000'000, kRepeats = 15;

gp::abi::AmdSignal doorbell, marker;
gp::abi::AqlPacket ring[64];
hsa_queue_t queue;

hsa_signal_t handle_of(gp::abi::AmdSignal& signal) { return {reinterpret_cast<gp::u64>(&signal)}; }
void store(hsa_signal_t, hsa_signal_value_t) { asm volatile(""); }

// A runtime with one queue, whose packets never complete: the process stays busy.
void make_up_runtime(CoreApiTable& core, AmdExtTable& extension) {
  core.version.minor_id = sizeof core;
  extension.version.minor_id = sizeof extension;
  queue = {HSA_QUEUE_TYPE_MULTI, 0, ring, handle_of(doorbell), 64, 0, 1};
  core.hsa_signal_store_relaxed_fn = core.hsa_signal_store_screlease_fn = store;
  core.hsa_signal_silent_store_relaxed_fn = core.hsa_signal_silent_store_screlease_fn = store;
  core.hsa_signal_load_scacquire_fn = [](hsa_signal_t) -> hsa_signal_value_t { return 1; };
  core.hsa_signal_create_fn = [](hsa_signal_value_t, uint32_t, const hsa_agent_t*,
                                 hsa_signal_t* signal) {
    *signal = handle_of(marker);
    return HSA_STATUS_SUCCESS;
  };
  core.hsa_agent_get_info_fn = [](hsa_agent_t, hsa_agent_info_t, void*) {
    return HSA_STATUS_ERROR;
  };
  core.hsa_queue_load_read_index_scacquire_fn = [](const hsa_queue_t*) -> uint64_t { return 1; };
  core.hsa_queue_load_write_index_scacquire_fn = [](const hsa_queue_t*) -> uint64_t { return 1; };
  core.hsa_queue_cas_write_index_scacq_screl_fn = [](const hsa_queue_t*, uint64_t expected,
                                                     uint64_t) -> uint64_t { return expected; };
  core.hsa_queue_create_fn = [](hsa_agent_t, uint32_t, hsa_queue_type32_t,
                                void (*)(hsa_status_t, hsa_queue_t*, void*), void*, uint32_t,
                                uint32_t, hsa_queue_t** made) {
    *made = &queue;
    return HSA_STATUS_SUCCESS;
  };
}

// The quickest of some repeats: what else runs on this machine is not the hook's.
double nanoseconds(const CoreApiTable& core, hsa_signal_t signal) {
  double best = 1e9;
  for (int repeat = 0; repeat < kRepeats; repeat++) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kStores; i++) core.hsa_signal_store_screlease_fn(signal, i);
    const std::chrono::duration<double, std::nano> span = std::chrono::steady_clock::now() - start;
    best = std::min(best, span.count() / kStores);
  }
  return best;
}

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "doorbell_hook: %s\n", what);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2)
    fail("usage: doorbell_hook LIBRARY");
  char directory[] = "/tmp/gpreempt-hook-XXXXXX";
  if (mkdtemp(directory) == nullptr)
    fail("no temporary directory");
  std::string path = directory;
  path += "/socket";
  setenv("GPREEMPT_SOCKET", path.c_str(), 1);
  auto listener = gp::listen_on(path);
  void* library = dlopen(argv[1], RTLD_NOW);
  if (!listener || library == nullptr)
    fail("no socket or no library");
  using OnLoad = bool(HsaApiTable*, uint64_t, uint64_t, const char* const*);
  auto* on_load = reinterpret_cast<OnLoad*>(dlsym(library, "OnLoad"));

  static CoreApiTable core;
  static AmdExtTable extension;
  make_up_runtime(core, extension);
  HsaApiTable table = {};
  table.version.major_id = HSA_API_TABLE_MAJOR_VERSION;
  table.core_ = &core;
  table.amd_ext_ = &extension;
  on_load(&table, 1, 0, nullptr);
  if (core.hsa_signal_store_screlease_fn == store)
    fail("the agent does not work here");
  hsa_queue_t* made = nullptr;
  core.hsa_queue_create_fn({0}, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &made);
  const double unwatched = nanoseconds(core, handle_of(doorbell));

  auto agent = gp::accept_from(listener->get());
  gp::wire::Hello hello;
  if (!agent)
    fail("no agent came");
  auto received =
      gp::receive_message(agent->get(), {reinterpret_cast<gp::u8*>(&hello), sizeof hello});
  if (!received || received->files.size() != 2)
    fail("this is no hello");
  const auto* page = static_cast<const gp::wire::Page*>(
      mmap(nullptr, gp::wire::kPageBytes, PROT_READ, MAP_SHARED, received->files[0].get(), 0));
  gp::wire::Welcome welcome;
  welcome.watch_completion = 1;
  if (!gp::send_message(agent->get(), {reinterpret_cast<gp::u8*>(&welcome), sizeof welcome})) {
    fail("the agent does not listen");
  }
  while (page->busy == 0) usleep(1000);  // until the watcher has found its queue busy
  std::printf("{\"unwatched_ns\": %.1f, \"other_ns\": %.1f, \"busy_ns\": %.1f}\n", unwatched,
              nanoseconds(core, handle_of(marker)), nanoseconds(core, handle_of(doorbell)));
  unlink(path.c_str());
  rmdir(directory);
  std::fflush(stdout);
  _exit(0);
}
