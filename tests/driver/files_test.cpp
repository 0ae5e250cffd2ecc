// sysfs and debugfs: names and formats, parsed back.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "abi/mqd.h"
#include "driver/driver_support.h"

namespace vgpu::driver {
namespace {

namespace fs = std::filesystem;

constexpr char kTopology[] = "/sys/class/kfd/kfd/topology/";
constexpr char kDebug[] = "/sys/kernel/debug/kfd/";

std::vector<std::string> names(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    result.push_back(line.substr(0, line.find(' ')));
  }
  return result;
}
std::map<std::string, u64> values(const std::string& text) {
  std::map<std::string, u64> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto space = line.find(' ');
    const std::string value = line.substr(space + 1);
    if (line.substr(0, space) != "sibling_map") {
      EXPECT_EQ(value.find_first_not_of("0123456789"), std::string::npos) << line;
      result[line.substr(0, space)] = std::stoull(value);
    }
  }
  return result;
}

class Files : public DriverTest {
 protected:
  std::string process_file(const Client& client, const std::string& name) {
    return read("/sys/class/kfd/kfd/proc/" + std::to_string(client.pid()) + "/" + name);
  }
  std::string process_dir(const Client& client) {
    return tree + "/sys/class/kfd/kfd/proc/" + std::to_string(client.pid());
  }
};

// ---- topology ----

TEST_F(Files, GpuPropertiesInTheDriversOrder) {
  const std::vector<std::string> expected = {"cpu_cores_count",
                                             "simd_count",
                                             "mem_banks_count",
                                             "caches_count",
                                             "io_links_count",
                                             "p2p_links_count",
                                             "cpu_core_id_base",
                                             "simd_id_base",
                                             "max_waves_per_simd",
                                             "lds_size_in_kb",
                                             "gds_size_in_kb",
                                             "num_gws",
                                             "wave_front_size",
                                             "array_count",
                                             "simd_arrays_per_engine",
                                             "cu_per_simd_array",
                                             "simd_per_cu",
                                             "max_slots_scratch_cu",
                                             "gfx_target_version",
                                             "vendor_id",
                                             "device_id",
                                             "location_id",
                                             "domain",
                                             "drm_render_minor",
                                             "hive_id",
                                             "num_sdma_engines",
                                             "num_sdma_xgmi_engines",
                                             "num_sdma_queues_per_engine",
                                             "num_cp_queues",
                                             "cwsr_size",
                                             "ctl_stack_size",
                                             "max_engine_clk_fcompute",
                                             "local_mem_size",
                                             "fw_version",
                                             "capability",
                                             "debug_prop",
                                             "sdma_fw_version",
                                             "unique_id",
                                             "num_xcc",
                                             "max_engine_clk_ccompute"};
  EXPECT_EQ(names(read(std::string(kTopology) + "nodes/1/properties")), expected);
}

TEST_F(Files, OldKernelLacksNewProperties) {
  DriverConfig config = small();
  config.kfd = KfdVersion::v1_11;
  start(config);
  const auto properties = values(read(std::string(kTopology) + "nodes/1/properties"));
  for (const char* name : {"cwsr_size", "ctl_stack_size", "num_xcc"}) {
    EXPECT_EQ(properties.count(name), 0u) << name;
  }
  const u32 debug_bits = abi::cap_trap_debug_support | abi::cap_debug_firmware_supported;
  EXPECT_EQ(properties.at("capability") & debug_bits, 0u);
}

TEST_F(Files, GpuValuesRocrDependsOn) {
  const auto properties = values(read(std::string(kTopology) + "nodes/1/properties"));
  EXPECT_EQ(properties.at("simd_count"), 8u);
  EXPECT_EQ(properties.at("gfx_target_version"), 90010u);
  EXPECT_EQ(properties.at("device_id"), 0x740fu);
  EXPECT_EQ(properties.at("drm_render_minor"), 128u);
  EXPECT_EQ(properties.at("num_cp_queues"), 8u);
  const u64 capability = properties.at("capability");
  EXPECT_EQ(capability >> 12 & 3, 2u) << "64-bit doorbells";
  EXPECT_TRUE(capability & abi::cap_sram_edc_supported);
  EXPECT_TRUE(capability & abi::cap_trap_debug_support);
  EXPECT_TRUE(capability & abi::cap_debug_firmware_supported);
  EXPECT_FALSE(capability & abi::cap_svm_api_supported);
  const auto bank = values(read(std::string(kTopology) + "nodes/1/mem_banks/0/properties"));
  EXPECT_EQ(bank.at("heap_type"), 1u) << "large BAR";
  EXPECT_EQ(bank.at("size_in_bytes"), u64{64} << 20);
}

TEST_F(Files, Mi50IsGfx906) {
  DriverConfig config = small();
  config.profile = "mi50";
  start(config);
  const auto properties = values(read(std::string(kTopology) + "nodes/1/properties"));
  EXPECT_EQ(properties.at("gfx_target_version"), 90006u);
  EXPECT_EQ(properties.at("max_waves_per_simd"), 10u);
  EXPECT_EQ(properties.at("device_id"), 0x66a1u);
}

TEST_F(Files, ContextSaveSizesFollowTheKernelsFormula) {
  DriverConfig config = small();
  config.gpu.cus = 8;
  start(config);
  const auto properties = values(read(std::string(kTopology) + "nodes/1/properties"));
  EXPECT_EQ(properties.at("ctl_stack_size"), 0x1000u);
  EXPECT_EQ(properties.at("cwsr_size"), 0x4a9000u);
}

TEST_F(Files, CountsMatchTheDirectories) {
  DriverConfig config = small();
  config.gpus = 3;
  start(config);
  const fs::path nodes = tree + kTopology + "nodes";
  const auto entries = [](const fs::path& dir) {
    return static_cast<u64>(std::distance(fs::directory_iterator(dir), fs::directory_iterator()));
  };
  EXPECT_EQ(entries(nodes), 4u);
  for (u32 node = 0; node < 4; ++node) {
    const fs::path dir = nodes / std::to_string(node);
    const auto properties =
        values(read(std::string(kTopology) + "nodes/" + std::to_string(node) + "/properties"));
    EXPECT_EQ(properties.at("mem_banks_count"), entries(dir / "mem_banks"));
    EXPECT_EQ(properties.at("caches_count"), entries(dir / "caches"));
    EXPECT_EQ(properties.at("io_links_count"), entries(dir / "io_links"));
    for (u64 link = 0; link < entries(dir / "io_links"); ++link) {
      const auto text = read(std::string(kTopology) + "nodes/" + std::to_string(node) +
                             "/io_links/" + std::to_string(link) + "/properties");
      EXPECT_EQ(values(text).at("node_from"), node);
      EXPECT_NE(values(text).at("node_to"), node);
    }
  }
}

TEST_F(Files, BothSysfsPathsShowTheSame) {
  const std::string name = "topology/nodes/1/gpu_id";
  const std::string id = read("/sys/class/kfd/kfd/" + name);
  EXPECT_EQ(id, read("/sys/devices/virtual/kfd/kfd/" + name));
  std::ifstream file(tree + "/sys/devices/virtual/kfd/kfd/" + name);
  std::string in_tree;
  std::getline(file, in_tree);
  EXPECT_EQ(in_tree + "\n", id);
  EXPECT_TRUE(fs::exists(tree + "/sys/class/kfd/kfd/" + name));
}

TEST_F(Files, DeviceNodesAndModuleAreThere) {
  EXPECT_TRUE(fs::exists(tree + "/dev/kfd"));
  EXPECT_TRUE(fs::exists(tree + "/dev/dri/renderD128"));
  EXPECT_EQ(read("/sys/module/amdgpu/initstate"), "live\n");
  EXPECT_TRUE(read("/sys/class/kfd/kfd/topology/nonsense").starts_with("error"));
  EXPECT_FALSE(driver->write_file("/sys/module/amdgpu/initstate", "dead"));
  EXPECT_FALSE(driver->write_file("/sys/nonsense", ""));
}

TEST_F(Files, ATreeFromAnEarlierRunIsReplaced) {
  const std::string stale = tree + "/sys/class/kfd/kfd/proc/12345";
  fs::create_directories(stale);
  start(small());
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(tree + "/sys/class/kfd/kfd/topology/generation_id"));
}

// ---- processes ----

TEST_F(Files, ProcessDirectoryComesAndGoes) {
  Client client(*driver);
  const std::string gpu = std::to_string(client.gpu_id());
  EXPECT_TRUE(fs::is_directory(process_dir(client) + "/queues"));
  EXPECT_EQ(std::stoul(process_file(client, "pasid")) & 0x8000, 0x8000u);
  EXPECT_EQ(process_file(client, "vram_" + gpu), "0\n");
  EXPECT_EQ(process_file(client, "sdma_" + gpu), "0\n");
  EXPECT_EQ(process_file(client, "stats_" + gpu + "/evicted_ms"), "0\n");
  EXPECT_EQ(process_file(client, "stats_" + gpu + "/cu_occupancy"), "0\n");
  const TestBuffer buffer = client.allocate(3 << 20, abi::alloc_vram);
  EXPECT_EQ(process_file(client, "vram_" + gpu), "3145728\n");
  client.free(buffer);
  EXPECT_EQ(process_file(client, "vram_" + gpu), "0\n");
  client.exit();
  EXPECT_FALSE(fs::exists(process_dir(client)));
  EXPECT_TRUE(process_file(client, "pasid").starts_with("error"));
}

TEST_F(Files, QueueFilesHaveNoNewline) {
  Client client(*driver);
  client.create_queue();
  client.create_queue(abi::queue_type_sdma);
  EXPECT_EQ(process_file(client, "queues/0/gpuid"), std::to_string(client.gpu_id()));
  EXPECT_EQ(process_file(client, "queues/0/size"), "4096");
  EXPECT_EQ(process_file(client, "queues/0/type"), "0") << "AQL is compute";
  EXPECT_EQ(process_file(client, "queues/1/type"), "1");
  EXPECT_TRUE(fs::exists(process_dir(client) + "/queues/1/type"));
  EXPECT_EQ(client.destroy_queue(1), 0);
  EXPECT_FALSE(fs::exists(process_dir(client) + "/queues/1"));
  EXPECT_TRUE(process_file(client, "queues/1/type").starts_with("error"));
}

// ---- debugfs ----

struct Dump {
  std::string heading;
  std::vector<u32> dwords;
  u32 first_address = 0;
};
// Headings followed by "address: value value ...".
std::vector<Dump> parse_dumps(const std::string& text) {
  std::vector<Dump> dumps;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(": ");
    const auto start = line.find_first_not_of(' ');
    if (colon == std::string::npos || colon - start != 8 ||
        line.find_first_not_of("0123456789abcdef", start) != colon) {
      dumps.push_back({line, {}, 0});
      continue;
    }
    EXPECT_FALSE(dumps.empty());
    if (dumps.back().dwords.empty()) {
      dumps.back().first_address = static_cast<u32>(std::stoul(line.substr(start, 8), nullptr, 16));
    }
    std::istringstream words(line.substr(colon + 2));
    for (std::string word; words >> word;) {
      EXPECT_EQ(word.size(), 8u) << line;
      dumps.back().dwords.push_back(static_cast<u32>(std::stoul(word, nullptr, 16)));
    }
  }
  return dumps;
}
u64 pair(const std::vector<u32>& dwords, std::size_t at) {
  return dwords[at] | u64{dwords[at + 1]} << 32;
}

TEST_F(Files, MqdsOfAProcessNewestFirst) {
  Client client(*driver);
  const TestQueue queue = client.create_queue(abi::queue_type_compute_aql, 15);
  client.create_queue(abi::queue_type_sdma);
  const std::string text = read(std::string(kDebug) + "mqds");
  const auto dumps = parse_dumps(text);
  ASSERT_EQ(dumps.size(), 3u);
  char process[64], gpu[32];
  snprintf(process, sizeof(process), "Process %d PASID 0x%lx:", client.pid(),
           std::stoul(process_file(client, "pasid")));
  snprintf(gpu, sizeof(gpu), "%x", client.gpu_id());
  EXPECT_EQ(dumps[0].heading, process);
  EXPECT_EQ(dumps[1].heading, std::string("  SDMA queue on device ") + gpu);
  EXPECT_EQ(dumps[1].dwords.size(), abi::kSdmaMqdDwords);
  EXPECT_EQ(dumps[2].heading, std::string("  Compute queue on device ") + gpu);
  const auto& mqd = dumps[2].dwords;
  ASSERT_EQ(mqd.size(), abi::kComputeMqdDwords);
  EXPECT_EQ(mqd[abi::mqd_header], 0xc0310800u);
  EXPECT_EQ(pair(mqd, abi::mqd_hqd_pq_base_lo) << 8, queue.ring.va);
  EXPECT_EQ(mqd[abi::mqd_hqd_queue_priority], 15u);
  EXPECT_EQ(mqd[abi::mqd_hqd_pipe_priority], 2u);
  EXPECT_EQ(mqd[abi::mqd_hqd_quantum], 0x111u);
  EXPECT_EQ(mqd[abi::mqd_hqd_persistent_state], 0x40005301u);
  EXPECT_EQ(1u << ((mqd[abi::mqd_hqd_pq_control] & 0x3f) + 1), queue.ring.size / 4);
  EXPECT_EQ(pair(mqd, abi::mqd_hqd_pq_wptr_poll_addr_lo), queue.args.write_pointer_address);
  EXPECT_EQ(pair(mqd, abi::mqd_hqd_ctx_save_base_addr_lo), queue.save_area.va);
  EXPECT_EQ(mqd[abi::mqd_hqd_ctx_save_size], queue.args.ctx_save_restore_size);
  EXPECT_EQ(mqd[abi::mqd_hqd_cntl_stack_size], queue.args.ctl_stack_size);
  EXPECT_NE(text.find("\n    00000200: "), std::string::npos) << "offsets in bytes";
}

TEST_F(Files, CuMaskIsDealtOverTheShaderEngines) {
  Client client(*driver);
  const TestQueue queue = client.create_queue();
  auto dumps = parse_dumps(read(std::string(kDebug) + "mqds"));
  EXPECT_EQ(dumps[1].dwords[abi::mqd_compute_static_thread_mgmt_se0], ~u32{0});
  const u32 mask = 2;  // CU 1: the first of the second engine
  abi::SetCuMaskArgs args = {
      .queue_id = queue.id, .num_cu_mask = 32, .cu_mask_ptr = reinterpret_cast<u64>(&mask)};
  ASSERT_EQ(client.call(abi::kfd_set_cu_mask, args), 0);
  dumps = parse_dumps(read(std::string(kDebug) + "mqds"));
  EXPECT_EQ(dumps[1].dwords[abi::mqd_compute_static_thread_mgmt_se0], 0u);
  EXPECT_EQ(dumps[1].dwords[abi::mqd_compute_static_thread_mgmt_se1], 1u);
}

TEST_F(Files, RunListJoinsWithMqdsAndHqds) {
  Client a(*driver), b(*driver);
  const TestQueue queue = a.create_queue();
  const TestQueue stopped = a.create_queue();
  b.create_queue();
  ASSERT_EQ(a.update_queue(stopped, 0), 0);
  ASSERT_TRUE(eventually([&] { return state_of(a.pid(), queue.id) == "mapped"; }));

  // rls: MAP_PROCESS of b (newest first) with one queue, then of a with one.
  const auto rls = parse_dumps(read(std::string(kDebug) + "rls"));
  ASSERT_EQ(rls.size(), 1u);
  std::vector<u64> listed;
  std::vector<u32> pasids;
  const auto& ib = rls[0].dwords;
  for (std::size_t at = 0; at < ib.size();) {
    const u32 opcode = ib[at] >> 8 & 0xff, dwords = (ib[at] >> 16 & 0x3fff) + 2;
    EXPECT_EQ(ib[at] >> 30, 3u);
    if (opcode == abi::kOpMapProcess) {
      EXPECT_EQ(dwords, abi::kMapProcessAldebaranDwords);
      EXPECT_EQ(ib[at + 1] >> 25, 10u) << "quantum";
      pasids.push_back(ib[at + 1] & 0xffff);
    } else {
      ASSERT_EQ(opcode, abi::kOpMapQueues);
      listed.push_back(pair(ib, at + 3));
    }
    at += dwords;
  }
  ASSERT_EQ(pasids.size(), 2u);
  EXPECT_EQ(pasids[0], std::stoul(process_file(b, "pasid")));
  EXPECT_EQ(pasids[1], std::stoul(process_file(a, "pasid")));
  ASSERT_EQ(listed.size(), 2u);

  // mqds: dwords 128/129 are the addresses; the stopped queue is not listed.
  std::map<u64, u32> active_in_mqd;
  for (const Dump& dump : parse_dumps(read(std::string(kDebug) + "mqds"))) {
    if (dump.dwords.size() == abi::kComputeMqdDwords) {
      active_in_mqd[pair(dump.dwords, abi::mqd_base_addr_lo)] = dump.dwords[abi::mqd_hqd_active];
    }
  }
  EXPECT_EQ(active_in_mqd.size(), 3u);
  for (const u64 address : listed) {
    EXPECT_EQ(active_in_mqd.at(address), 1u);
  }

  // hqds: the same addresses hold slots.
  std::vector<u64> in_slots;
  u32 slots = 0, sdma = 0;
  for (const Dump& dump : parse_dumps(read(std::string(kDebug) + "hqds"))) {
    if (dump.heading.starts_with(" Inst 0,  CP Pipe ")) {
      ++slots;
      EXPECT_EQ(dump.first_address, 0xc914u);
      ASSERT_EQ(dump.dwords.size(), abi::kHqdRegisters);
      if (dump.dwords[2] & 1) {
        in_slots.push_back(pair(dump.dwords, 0));
        EXPECT_NE(dump.dwords[3], 0u) << "a VMID";
      }
    }
    sdma += dump.heading.starts_with("  SDMA Engine ");
  }
  EXPECT_EQ(slots, 8u);
  EXPECT_EQ(sdma, 16u);
  std::sort(in_slots.begin(), in_slots.end());
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(in_slots, listed);
}

TEST_F(Files, OversubscribedRunListIsChained) {
  DriverConfig config = small();
  config.gpu.hqds = 2;
  start(config);
  Client client(*driver);
  for (int i = 0; i < 3; ++i) {
    client.create_queue();
  }
  const auto rls = parse_dumps(read(std::string(kDebug) + "rls"));
  const auto& ib = rls[0].dwords;
  ASSERT_GE(ib.size(), 4u);
  const std::size_t last = ib.size() - abi::kRunListDwords;
  EXPECT_EQ(ib[last] >> 8 & 0xff, abi::kOpRunList);
  EXPECT_EQ(ib[last + 3] & 0xfffff, ib.size()) << "it names its own size";
}

TEST_F(Files, EmptyRunList) {
  char expected[64];
  snprintf(expected, sizeof(expected), "Node 1, gpu_id %x:\n  No active runlist\n",
           driver->stats().gpus[0].gpu_id);
  EXPECT_EQ(read(std::string(kDebug) + "rls"), expected);
  EXPECT_EQ(read(std::string(kDebug) + "mqds"), "");
}

// The format oracle: what the reader of this file understands of us, it understands of others.
std::string slurp(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void expect_the_same_format(const std::string& mqds, const std::string& hqds) {
  bool saw_queue = false;
  for (const Dump& dump : parse_dumps(mqds)) {
    if (dump.heading.starts_with("  Compute")) {
      saw_queue = true;
      EXPECT_EQ(dump.dwords.size() % abi::kComputeMqdDwords, 0u);
    }
  }
  EXPECT_TRUE(saw_queue);
  bool saw_slot = false;
  for (const Dump& dump : parse_dumps(hqds)) {
    if (dump.heading.starts_with(" Inst 0,  CP Pipe ")) {
      saw_slot = true;
      EXPECT_EQ(dump.dwords.size(), abi::kHqdRegisters);
      EXPECT_EQ(dump.first_address, abi::kHqdFirstAddress);
    }
  }
  EXPECT_TRUE(saw_slot);
}

TEST_F(Files, FixturesHaveTheSameFormat) {
  expect_the_same_format(slurp(GPREEMPT_FIXTURES "/gfx942/debugfs/mqds"),
                         slurp(GPREEMPT_FIXTURES "/gfx942/debugfs/hqds"));
}

TEST_F(Files, DumpsOfRealHardwareHaveTheSameFormat) {
  const std::string mqds = slurp(GPREEMPT_DUMPS "/mqds_16.txt");
  if (mqds.empty()) {
    GTEST_SKIP() << "no dumps of an MI308X here";
  }
  expect_the_same_format(mqds, slurp(GPREEMPT_DUMPS "/hqds_16.txt"));
}

}  // namespace
}  // namespace vgpu::driver
