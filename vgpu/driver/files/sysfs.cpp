#include "driver/files/sysfs.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/log.h"

namespace vgpu::driver {
namespace {

namespace fs = std::filesystem;

constexpr char kClassDir[] = "/sys/class/kfd/kfd";
constexpr char kDeviceDir[] = "/sys/devices/virtual/kfd/kfd";

Status write_file(const fs::path& path, const std::string& text) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::ofstream file(path, std::ios::trunc);
  if (!(file << text) || !file.flush()) {
    return Error{error ? error.value() : EIO, fmt::format("write {}", path.string()), ""};
  }
  return ok();
}

// The loaded module: rocminfo 6 reads initstate, schedulers the parameters.
std::vector<StaticFile> module_files(const DriverConfig& config, bool new_kernel) {
  std::vector<StaticFile> files = {
      {"initstate", "live\n"},
      {"version", new_kernel ? "6.12.95\n" : "6.1.0\n"},
      {"parameters/sched_policy", "0\n"},
      {"parameters/cwsr_enable", "1\n"},
      {"parameters/hws_max_conc_proc", fmt::format("{}\n", config.gpu.vmids)},
      {"parameters/max_num_of_queues_per_device", "4096\n"},
      {"parameters/num_kcq", "8\n"},
      {"parameters/noretry", "1\n"},
  };
  if (new_kernel) {
    files.push_back(
        {"parameters/queue_preemption_timeout_ms", fmt::format("{}\n", config.hws_timeout_ms)});
  }
  return files;
}

// Directories of a real sysfs have inode numbers that grow with creation (idr_alloc_cyclic in
// __kernfs_new_node). Here the modification time stands for that: no two are the same, and
// libvgpu.so shows it as the inode number.
void stamp_creation(const fs::path& directory) {
  static std::mutex mutex;
  static i64 last = 0;
  const std::lock_guard lock(mutex);
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  constexpr i64 kSecond = 1'000'000'000;
  last = std::max(last + 1, i64{now.tv_sec} * kSecond + now.tv_nsec);
  const timespec stamp{.tv_sec = last / kSecond, .tv_nsec = last % kSecond};
  const timespec times[] = {stamp, stamp};
  if (::utimensat(AT_FDCWD, directory.c_str(), times, 0) != 0) {
    log_warning("stamp {}: {}", directory.string(), std::strerror(errno));
  }
}

void create_empty(const fs::path& path) {
  if (const auto result = write_file(path, ""); !result) {
    log_warning("{}", result.error().message());
  }
}

}  // namespace

std::string canonical_path(std::string_view path) {
  std::string text(path);
  if (text.starts_with(kDeviceDir)) {
    text.replace(0, sizeof(kDeviceDir) - 1, kClassDir);
  }
  return text;
}

Result<std::unique_ptr<SysfsTree>> SysfsTree::create(
    const DriverConfig& config, const std::vector<std::unique_ptr<Node>>& nodes, u64 gtt_bytes) {
  const bool new_kernel = config.kfd != KfdVersion::v1_11;
  std::vector<u32> gpu_ids;
  for (const auto& node : nodes) {
    gpu_ids.push_back(node->gpu_id);
  }
  std::unique_ptr<SysfsTree> tree(
      new SysfsTree(config.tree, std::move(gpu_ids), config.kernel_patches));

  for (StaticFile& file : topology_files(nodes, new_kernel, config.vram_bytes)) {
    tree->files_.push_back(
        {fmt::format("{}/topology/{}", kClassDir, file.path), std::move(file.text)});
  }
  for (StaticFile& file : module_files(config, new_kernel)) {
    tree->files_.push_back({"/sys/module/amdgpu/" + file.path, std::move(file.text)});
  }

  // The class directory is a link to the device's, as on a real machine.
  std::error_code error;
  const fs::path base = tree->root_;
  fs::remove_all(base / "sys", error);  // left by a run that was killed
  fs::remove_all(base / "dev", error);
  fs::create_directories(base / "sys/devices/virtual/kfd/kfd/proc", error);
  fs::create_directories(base / "sys/class/kfd", error);
  fs::create_directory_symlink("../../devices/virtual/kfd/kfd", base / "sys/class/kfd/kfd", error);
  if (error) {
    return Error{error.value(), fmt::format("lay out sysfs below {}", tree->root_), ""};
  }
  TRY(tree->lay_out(device_files(nodes, config.vram_bytes, gtt_bytes)));
  std::sort(tree->files_.begin(), tree->files_.end(),
            [](const StaticFile& a, const StaticFile& b) { return a.path < b.path; });
  for (const StaticFile& file : tree->files_) {
    TRY(write_file(tree->root_ + file.path, file.text));
  }
  for (const char* name : {"mqds", "hqds", "rls", "hang_hws", "mem_limit"}) {
    TRY(write_file(base / "sys/kernel/debug/kfd" / name, ""));
  }
  TRY(write_file(base / "dev/kfd", ""));
  for (const auto& node : nodes) {
    TRY(write_file(base / fmt::format("dev/dri/card{}", node->index), ""));
    TRY(write_file(base / fmt::format("dev/dri/renderD{}", node->render_minor), ""));
  }
  return tree;
}

// Links are relative, as on a real sysfs, and lead from one place of the tree to another.
Status SysfsTree::lay_out(DeviceFiles devices) {
  std::move(devices.files.begin(), devices.files.end(), std::back_inserter(files_));
  for (const std::string& path : devices.generated) {
    TRY(write_file(root_ + path, ""));
  }
  for (const DeviceFiles::Link& link : devices.links) {
    const fs::path place = root_ + link.path;
    const fs::path parent = fs::path(link.path).parent_path();
    std::error_code error;
    fs::create_directories(place.parent_path(), error);
    fs::create_directory_symlink(fs::path(link.target).lexically_relative(parent), place, error);
    if (error) {
      return Error{error.value(), fmt::format("link {}", place.string()), ""};
    }
  }
  return ok();
}

std::string SysfsTree::real_name(const std::string& path) const {
  std::error_code error;
  const fs::path root = fs::canonical(root_, error);
  const fs::path place = fs::canonical(root_ + path, error);
  return error ? path : "/" + place.lexically_relative(root).string();
}

const std::string* SysfsTree::find(const std::string& path) const {
  const auto found = std::lower_bound(
      files_.begin(), files_.end(), path,
      [](const StaticFile& file, const std::string& wanted) { return file.path < wanted; });
  return found != files_.end() && found->path == path ? &found->text : nullptr;
}

std::string SysfsTree::process_dir(pid_t pid) const {
  return fmt::format("{}{}/proc/{}", root_, kDeviceDir, pid);
}

void SysfsTree::add_process(pid_t pid) {
  const fs::path dir = process_dir(pid);
  std::error_code error;
  fs::create_directories(dir / "queues", error);
  create_empty(dir / "pasid");
  for (const u32 gpu_id : gpu_ids_) {
    create_empty(dir / fmt::format("vram_{}", gpu_id));
    create_empty(dir / fmt::format("sdma_{}", gpu_id));
    create_empty(dir / fmt::format("stats_{}/evicted_ms", gpu_id));
    create_empty(dir / fmt::format("stats_{}/cu_occupancy", gpu_id));
    if (kernel_patches_) {
      create_empty(dir / fmt::format("stats_{}/preempted_ms", gpu_id));
    }
  }
}

void SysfsTree::remove_process(pid_t pid) {
  std::error_code error;
  fs::remove_all(process_dir(pid), error);
  if (error) {
    log_warning("remove {}: {}", process_dir(pid), error.message());
  }
}

void SysfsTree::add_queue(pid_t pid, u32 queue_id) {
  // Made aside and moved, so that nobody sees it without its files and its stamp.
  const fs::path place = fmt::format("{}/queues/{}", process_dir(pid), queue_id);
  const fs::path aside = fmt::format("{}/new_queue_{}_{}", root_, pid, queue_id);
  for (const char* name : {"gpuid", "size", "type"}) {
    create_empty(aside / name);
  }
  stamp_creation(aside);
  std::error_code error;
  fs::rename(aside, place, error);
  if (error) {
    log_warning("make {}: {}", place.string(), error.message());
    fs::remove_all(aside, error);
  }
}

void SysfsTree::remove_queue(pid_t pid, u32 queue_id) {
  std::error_code error;
  fs::remove_all(fmt::format("{}/queues/{}", process_dir(pid), queue_id), error);
}

}  // namespace vgpu::driver
