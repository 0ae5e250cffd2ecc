#include "driver/sysfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

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
    std::string root, const std::vector<std::unique_ptr<Node>>& nodes, bool has_debugger,
    u64 vram_bytes) {
  std::vector<u32> gpu_ids;
  for (const auto& node : nodes) {
    gpu_ids.push_back(node->gpu_id);
  }
  std::unique_ptr<SysfsTree> tree(new SysfsTree(std::move(root), std::move(gpu_ids)));

  for (StaticFile& file : topology_files(nodes, has_debugger, vram_bytes)) {
    tree->files_.push_back(
        {fmt::format("{}/topology/{}", kClassDir, file.path), std::move(file.text)});
  }
  tree->files_.push_back({"/sys/module/amdgpu/initstate", "live\n"});
  tree->files_.push_back({"/sys/module/amdgpu/version", has_debugger ? "6.12.95\n" : "6.1.0\n"});
  tree->files_.push_back({"/sys/module/amdgpu/parameters/sched_policy", "0\n"});
  tree->files_.push_back({"/sys/module/amdgpu/parameters/cwsr_enable", "1\n"});
  std::sort(tree->files_.begin(), tree->files_.end(),
            [](const StaticFile& a, const StaticFile& b) { return a.path < b.path; });

  // The class directory is a link to the device's, as on a real machine.
  std::error_code error;
  const fs::path base = tree->root_;
  fs::remove_all(base / "sys/devices/virtual/kfd/kfd", error);  // left by a run that was killed
  fs::create_directories(base / "sys/devices/virtual/kfd/kfd/proc", error);
  fs::create_directories(base / "sys/class/kfd", error);
  fs::remove(base / "sys/class/kfd/kfd", error);
  fs::create_directory_symlink("../../devices/virtual/kfd/kfd", base / "sys/class/kfd/kfd", error);
  if (error) {
    return Error{error.value(), fmt::format("lay out sysfs below {}", tree->root_), ""};
  }
  for (const StaticFile& file : tree->files_) {
    TRY(write_file(tree->root_ + file.path, file.text));
  }
  for (const char* name : {"mqds", "hqds", "rls", "hang_hws", "mem_limit"}) {
    TRY(write_file(base / "sys/kernel/debug/kfd" / name, ""));
  }
  TRY(write_file(base / "dev/kfd", ""));
  for (const auto& node : nodes) {
    TRY(write_file(base / fmt::format("dev/dri/renderD{}", node->render_minor), ""));
  }
  return tree;
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
  const fs::path dir = fmt::format("{}/queues/{}", process_dir(pid), queue_id);
  for (const char* name : {"gpuid", "size", "type"}) {
    create_empty(dir / name);
  }
}

void SysfsTree::remove_queue(pid_t pid, u32 queue_id) {
  std::error_code error;
  fs::remove_all(fmt::format("{}/queues/{}", process_dir(pid), queue_id), error);
}

}  // namespace vgpu::driver
