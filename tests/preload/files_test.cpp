// Device files are found by every way libc has to open, look at or list a file.
#include <dirent.h>
#include <glob.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "preload/preload_support.h"

namespace vgpu::preload {
namespace {

constexpr char kProperties[] = "/sys/devices/virtual/kfd/kfd/topology/nodes/1/properties";

std::string read_fd(int fd) {
  std::string text;
  char buffer[512];
  for (ssize_t got; (got = ::read(fd, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

TEST(Files, EveryKindOfOpenFindsTheTopology) {
  const int directory = ::open("/sys/devices/virtual/kfd/kfd/topology", O_RDONLY | O_DIRECTORY);
  ASSERT_GE(directory, 0);
  const UniqueFd files[] = {
      UniqueFd(::open(kProperties, O_RDONLY)),
      UniqueFd(::open64(kProperties, O_RDONLY)),
      UniqueFd(::openat(AT_FDCWD, kProperties, O_RDONLY)),
      UniqueFd(::openat64(AT_FDCWD, kProperties, O_RDONLY)),
      UniqueFd(::openat(directory, "nodes/1/properties", O_RDONLY)),
      UniqueFd(::open("/sys//class/kfd/./kfd/topology/../topology/nodes/1/properties", O_RDONLY)),
  };
  for (const UniqueFd& file : files) {
    EXPECT_NE(read_fd(file.get()).find("simd_count"), std::string::npos);
  }
  ::close(directory);
}

TEST(Files, StdioAndStreamsFindTheTopology) {
  for (FILE* file : {::fopen(kProperties, "r"), ::fopen64(kProperties, "re")}) {
    ASSERT_NE(file, nullptr);
    char line[128];
    EXPECT_NE(::fgets(line, sizeof line, file), nullptr);
    ::fclose(file);
  }
  std::ifstream stream(kProperties);
  EXPECT_TRUE(stream.good());
}

TEST(Files, DirectoriesAreListedInEveryWay) {
  std::set<std::string> by_readdir, by_scandir, by_iterator, by_glob;
  DIR* nodes = ::opendir("/sys/class/kfd/kfd/topology/nodes");
  ASSERT_NE(nodes, nullptr);
  while (const dirent* entry = ::readdir(nodes)) {
    if (entry->d_name[0] != '.')
      by_readdir.insert(entry->d_name);
  }
  ::closedir(nodes);
  dirent** list = nullptr;
  const int count = ::scandir("/sys/class/kfd/kfd/topology/nodes", &list, nullptr, nullptr);
  for (int i = 0; i < count; ++i) {
    if (list[i]->d_name[0] != '.')
      by_scandir.insert(list[i]->d_name);
    ::free(list[i]);
  }
  ::free(list);
  for (const auto& entry :
       std::filesystem::directory_iterator("/sys/class/kfd/kfd/topology/nodes")) {
    by_iterator.insert(entry.path().filename());
  }
  glob_t matches{};
  ASSERT_EQ(::glob("/sys/class/kfd/kfd/topology/nodes/?", 0, nullptr, &matches), 0);
  for (std::size_t i = 0; i < matches.gl_pathc; ++i) {
    const std::string path = matches.gl_pathv[i];
    EXPECT_EQ(path.find("/sys/class/kfd/kfd/topology/nodes/"), 0u) << path;
    by_glob.insert(path.substr(path.rfind('/') + 1));
  }
  ::globfree(&matches);
  const std::set<std::string> expected = {"0", "1"};
  EXPECT_EQ(by_glob, expected);
  EXPECT_EQ(by_readdir, expected);
  EXPECT_EQ(by_scandir, expected);
  EXPECT_EQ(by_iterator, expected);
}

TEST(Files, DeviceNodesLookLikeDeviceNodes) {
  struct stat kfd {
  }, render{};
  ASSERT_EQ(::stat("/dev/kfd", &kfd), 0);
  EXPECT_TRUE(S_ISCHR(kfd.st_mode));
  ASSERT_EQ(::lstat("/dev/dri/renderD128", &render), 0);
  EXPECT_TRUE(S_ISCHR(render.st_mode));
  EXPECT_EQ(major(render.st_rdev), 226u);
  EXPECT_EQ(minor(render.st_rdev), 128u);
  struct stat64 large {};
  EXPECT_EQ(::fstatat64(AT_FDCWD, "/dev/kfd", &large, 0), 0);
  struct statx extended {};
  ASSERT_EQ(::statx(AT_FDCWD, "/dev/kfd", 0, STATX_ALL, &extended), 0);
  EXPECT_TRUE(S_ISCHR(extended.stx_mode));
  EXPECT_EQ(::access("/dev/kfd", R_OK | W_OK), 0);
  EXPECT_EQ(::faccessat(AT_FDCWD, "/dev/dri/renderD128", R_OK, 0), 0);
  EXPECT_EQ(::euidaccess("/dev/kfd", R_OK), 0);
}

TEST(Files, TheirFileSystemCanBeAskedFor) {
  struct statfs system {};
  EXPECT_EQ(::statfs("/dev/kfd", &system), 0);
  EXPECT_EQ(::statfs(kProperties, &system), 0);
  struct statvfs portable {};
  EXPECT_EQ(::statvfs("/dev/dri/renderD128", &portable), 0);
  EXPECT_EQ(::statvfs("/sys/class/kfd/kfd/nothing", &portable), -1);
  EXPECT_EQ(errno, ENOENT);
}

TEST(Files, WhatDoesNotExistIsNotThere) {
  EXPECT_EQ(::open("/sys/class/kfd/kfd/topology/nodes/77/name", O_RDONLY), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(::open("/dev/dri/renderD177", O_RDWR), -1);
  EXPECT_EQ(errno, ENOENT);
  struct stat status {};
  EXPECT_EQ(::stat("/dev/dri/card77", &status), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(::opendir("/sys/class/kfd/kfd/proc/1"), nullptr);
}

TEST(Files, NamesAreShownAsTheProgramKnowsThem) {
  char path[PATH_MAX];
  ASSERT_NE(::realpath("/sys/class/kfd/kfd", path), nullptr);
  EXPECT_STREQ(path, "/sys/devices/virtual/kfd/kfd");
  const ssize_t length = ::readlink("/sys/class/kfd/kfd", path, sizeof path);
  EXPECT_EQ(std::string(path, path + length), "../../devices/virtual/kfd/kfd");
  char* allocated = ::canonicalize_file_name("/sys/class/kfd/kfd/topology");
  EXPECT_STREQ(allocated, "/sys/devices/virtual/kfd/kfd/topology");
  ::free(allocated);
}

TEST(Files, OtherFilesAreLeftAlone) {
  struct stat status {};
  EXPECT_EQ(::stat("/dev/null", &status), 0);
  EXPECT_GE(UniqueFd(::open("/proc/self/status", O_RDONLY)).get(), 0);
  EXPECT_EQ(::stat("/dev/kfdx", &status), -1);
  char name[] = "/tmp/preload_test.XXXXXX";
  const UniqueFd file(::mkstemp(name));
  ASSERT_TRUE(file);
  EXPECT_EQ(::stat(name, &status), 0);
  ::unlink(name);
}

TEST(Files, GeneratedFilesAreLive) {
  const std::string queues = "/sys/class/kfd/kfd/proc/" + std::to_string(::getpid()) + "/vram_" +
                             std::to_string(first_gpu_id());
  EXPECT_EQ(::access(queues.c_str(), R_OK), -1) << "the process has not opened the device yet";
  Gpu gpu;
  ASSERT_NE(gpu.id, 0u);
  const auto usage = [&] { return read_fd(UniqueFd(::open(queues.c_str(), O_RDONLY)).get()); };
  const std::string before = usage();
  const u64 handle = gpu.allocate(gp::abi::alloc_vram, u64{2} << 20);
  ASSERT_NE(handle, 0u);
  EXPECT_NE(usage(), before);
  EXPECT_TRUE(gpu.free(handle));
  EXPECT_EQ(usage(), before);
}

TEST(Files, GeneratedFilesAreFoundRelativeToADirectory) {
  const UniqueFd directory(::open("/sys/kernel/debug/kfd", O_RDONLY | O_DIRECTORY));
  ASSERT_TRUE(directory);
  EXPECT_NE(read_fd(UniqueFd(::openat(directory.get(), "rls", O_RDONLY)).get()), "");
  ASSERT_EQ(::chdir("/sys/kernel/debug/kfd"), 0);
  EXPECT_NE(read_fd(UniqueFd(::open("rls", O_RDONLY)).get()), "");
  ASSERT_EQ(::chdir("/"), 0);
}

TEST(Files, SharedFilesCannotBeMadeShorter) {
  Gpu gpu;
  // The server has them mapped: it would die of SIGBUS.
  EXPECT_EQ(::ftruncate(gpu.kfd.get(), 0), -1);
  EXPECT_EQ(::ftruncate(gpu.render.get(), 0), -1);
}

TEST(Files, ThreadsWithTheSmallestStackOpenFiles) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);  // PTHREAD_STACK_MIN of older systems
  pthread_t thread;
  const auto body = [](void*) -> void* {
    const UniqueFd null(::open("/dev/null", O_RDONLY));
    const UniqueFd kfd = open_kfd();
    return null && kfd_minor(kfd.get()) == 17 ? &errno : nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, body, nullptr), 0);
  void* result = nullptr;
  pthread_join(thread, &result);
  EXPECT_NE(result, nullptr);
}

TEST(Files, WatchersSeeTheDeviceBeingOpened) {
  const UniqueFd watch(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  ASSERT_GE(::inotify_add_watch(watch.get(), "/dev/kfd", IN_OPEN), 0);
  ASSERT_TRUE(open_kfd());
  alignas(inotify_event) char buffer[256];
  EXPECT_GT(::read(watch.get(), buffer, sizeof buffer), 0);
}

TEST(Files, LsmodIsAnsweredAsRocminfoAsks) {
  FILE* answer = ::popen("lsmod | grep amdgpu", "r");
  ASSERT_NE(answer, nullptr);
  char line[128] = "";
  EXPECT_NE(::fgets(line, sizeof line, answer), nullptr);
  EXPECT_EQ(std::string(line).find("amdgpu"), 0u);
  EXPECT_EQ(::pclose(answer), 0);
}

}  // namespace
}  // namespace vgpu::preload
