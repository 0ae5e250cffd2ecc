#include "gpu.h"

#include <cstring>
#include <vector>

#include "code_objects.h"

namespace gp::load {
namespace {

constexpr int kUsage = 2, kNoDevice = 3, kUnsupported = 5;

struct Agents {
  std::vector<hsa_agent_t> gpus, cpus;
};

hsa_status_t sort_agent(hsa_agent_t agent, void* data) {
  auto* agents = static_cast<Agents*>(data);
  hsa_device_type_t type{};
  check(hsa().hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type), "ask what an agent is");
  if (type == HSA_DEVICE_TYPE_GPU) {
    agents->gpus.push_back(agent);
  } else if (type == HSA_DEVICE_TYPE_CPU) {
    agents->cpus.push_back(agent);
  }
  return HSA_STATUS_SUCCESS;
}

std::uint32_t number_of(hsa_agent_t agent, int attribute) {
  std::uint32_t value = 0;
  check(hsa().hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), &value),
        "ask for the size of the GPU");
  return value;
}

// "gfx942" of an ISA "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-". Generic ISAs, which ROCm 6.4 and
// later list too, are not what the GPU is called: the first is.
hsa_status_t target_of_isa(hsa_isa_t isa, void* data) {
  char name[256] = {};
  check(hsa().hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name), "ask for the GPU's ISA");
  const char* target = std::strstr(name, "gfx");
  if (target == nullptr) {
    return HSA_STATUS_SUCCESS;
  }
  static_cast<std::string*>(data)->assign(target, std::strcspn(target, ":"));
  return HSA_STATUS_INFO_BREAK;
}

struct Pools {
  hsa_amd_memory_pool_t fine, arguments;
};

hsa_status_t sort_pool(hsa_amd_memory_pool_t pool, void* data) {
  std::uint32_t flags = 0;
  hsa_amd_segment_t segment{};
  check(hsa().hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment),
        "ask what a memory pool is");
  if (segment != HSA_AMD_SEGMENT_GLOBAL) {
    return HSA_STATUS_SUCCESS;
  }
  check(hsa().hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags),
        "ask what a memory pool is");
  auto* pools = static_cast<Pools*>(data);
  if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0 && pools->fine.handle == 0) {
    pools->fine = pool;
  }
  if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0 && pools->arguments.handle == 0) {
    pools->arguments = pool;
  }
  return HSA_STATUS_SUCCESS;
}

const CodeObject& code_object_for(const std::string& target) {
  std::string known;
  for (const CodeObject& code : code_objects()) {
    if (target == code.target) {
      return code;
    }
    known += std::string(" ") + code.target;
  }
  fail(kUnsupported,
       "no kernels for %s in this program, only for%s\n"
       "hint: build gpreempt with -DGPREEMPT_GPU_TARGETS=%s and a clang that knows it",
       target.c_str(), known.c_str(), target.c_str());
}

Kernel kernel_of(hsa_executable_t executable, hsa_agent_t agent, const KernelKind& kind) {
  const auto ask = [](hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t attribute,
                      void* value) {
    check(hsa().hsa_executable_symbol_get_info(symbol, attribute, value), "ask about a kernel");
  };
  Kernel kernel{kind, 0, 0, 0};
  hsa_executable_symbol_t symbol{};
  const std::string name = std::string(kind.name) + ".kd";
  check(hsa().hsa_executable_get_symbol_by_name(executable, name.c_str(), &agent, &symbol),
        "find a kernel in the code object");
  ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object);
  ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &kernel.private_size);
  ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &kernel.group_size);
  return kernel;
}

}  // namespace

Gpu::Gpu(unsigned index, int node) {
  const hsa_status_t status = hsa().hsa_init();
  if (status != HSA_STATUS_SUCCESS) {
    fail(kNoDevice,
         "ROCr does not start here (HSA status 0x%x)\n"
         "hint: is there a GPU, and may you use it? `gpreempt doctor` says what is missing",
         static_cast<unsigned>(status));
  }
  find_agent(index, node);
  find_memory();
  load_kernels();
}

void Gpu::find_agent(unsigned index, int wanted_node) {
  Agents agents;
  check(hsa().hsa_iterate_agents(sort_agent, &agents), "list the agents");
  if (agents.gpus.empty() || agents.cpus.empty()) {
    fail(kNoDevice, "ROCr shows no GPU\nhint: `gpreempt doctor` says what is missing");
  }
  cpu_ = agents.cpus[0];
  for (unsigned i = 0; i < agents.gpus.size(); i++) {
    const std::uint32_t its_node = number_of(agents.gpus[i], HSA_AMD_AGENT_INFO_DRIVER_NODE_ID);
    if (wanted_node >= 0 ? its_node == static_cast<std::uint32_t>(wanted_node) : i == index) {
      agent = agents.gpus[i];
      node = its_node;
    }
  }
  if (agent.handle == 0) {
    fail(kNoDevice, "ROCr shows %zu GPUs, and not %s %d\nhint: see ROCR_VISIBLE_DEVICES",
         agents.gpus.size(), wanted_node >= 0 ? "that of node" : "number",
         wanted_node >= 0 ? wanted_node : static_cast<int>(index));
  }
  compute_units = number_of(agent, HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT);
  check(hsa().hsa_agent_iterate_isas(agent, target_of_isa, &target), "list the GPU's ISAs");
}

void Gpu::find_memory() {
  Pools pools{};
  check(hsa().hsa_amd_agent_iterate_memory_pools(cpu_, sort_pool, &pools), "list memory pools");
  host_memory_ = pools.fine;
  argument_memory_ = pools.arguments;
  if (host_memory_.handle == 0 || argument_memory_.handle == 0) {
    fail(1, "the host has no memory that a GPU shares");
  }
}

void* Gpu::allocate(hsa_amd_memory_pool_t pool, std::size_t bytes) const {
  void* memory = nullptr;
  check(hsa().hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory), "allocate memory");
  check(hsa().hsa_amd_agents_allow_access(1, &agent, nullptr, memory), "share memory with the GPU");
  std::memset(memory, 0, bytes);
  return memory;
}

void Gpu::load_kernels() {
  const CodeObject& code = code_object_for(target);
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  check(hsa().hsa_code_object_reader_create_from_memory(
            code.begin, static_cast<std::size_t>(code.end - code.begin), &reader),
        "read the code object");
  check(hsa().hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                        nullptr, &executable),
        "make an executable");
  check(hsa().hsa_executable_load_agent_code_object(executable, agent, reader, nullptr, nullptr),
        "load the kernels");
  check(hsa().hsa_executable_freeze(executable, nullptr), "load the kernels");
  for (std::size_t i = 0; i < std::size(kKernels); i++) {
    kernels_[i] = kernel_of(executable, agent, kKernels[i]);
  }
}

const Kernel& Gpu::kernel(const std::string& name) const {
  for (const Kernel& kernel : kernels_) {
    if (name == kernel.kind.name) {
      return kernel;
    }
  }
  fail(kUsage, "no kernel is called %s", name.c_str());
}

}  // namespace gp::load
