#include "preload/page_mover.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

#include "preload/raw_syscall.h"
#include "preload/userfault.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14
#endif

namespace vgpu::preload {
namespace {

long as_long(gp::u64 value) { return static_cast<long>(value); }

// Makes writers wait for the time this object lives. They are woken when the descriptor is closed,
// and by then the range is mapped anew.
class WritersHeld {
 public:
  explicit WritersHeld(const PageRange& range) : userfault_(open_userfault()) {
    if (userfault_ < 0 || !watch_writes(userfault_, range.start, range.end)) {
      return;
    }
    // Before Linux 6.4 a page that was never touched cannot be protected: touch them all.
    raw_syscall(SYS_madvise, as_long(range.start), as_long(range.end - range.start),
                MADV_POPULATE_READ);
    protect_writes(userfault_, range.start, range.end);
  }
  ~WritersHeld() {
    if (userfault_ >= 0) {
      raw_syscall(SYS_close, userfault_);
    }
  }
  WritersHeld(const WritersHeld&) = delete;
  WritersHeld& operator=(const WritersHeld&) = delete;

 private:
  int userfault_;
};

// pwrite64 or pread64 of the whole range, memory at `memory`, file offset = address.
int transfer(long number, int file, gp::u64 memory, const PageRange& range) {
  gp::u64 done = 0;
  const gp::u64 size = range.end - range.start;
  while (done < size) {
    const long moved = raw_syscall(number, file, as_long(memory + done), as_long(size - done),
                                   as_long(range.start + done));
    if (moved <= 0) {
      return moved == 0 ? -EIO : static_cast<int>(moved);
    }
    done += static_cast<gp::u64>(moved);
  }
  return 0;
}

void release_file_pages(int file, const PageRange& range) {
  raw_syscall(SYS_fallocate, file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, as_long(range.start),
              as_long(range.end - range.start));
}

int into_file(int file, const PageRange& range) {
  WritersHeld held(range);
  const int copied = transfer(SYS_pwrite64, file, range.start, range);
  if (copied < 0) {
    release_file_pages(file, range);
    return copied;
  }
  const long mapped =
      raw_syscall(SYS_mmap, as_long(range.start), as_long(range.end - range.start),
                  range.protection, MAP_SHARED | MAP_FIXED, file, as_long(range.start));
  return mapped < 0 && mapped > -4096 ? static_cast<int>(mapped) : 0;
}

// A private copy is made aside and put in place in one step.
int replace_by_copy(int file, const PageRange& range) {
  const long size = as_long(range.end - range.start);
  const long copy =
      raw_syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy < 0 && copy > -4096) {
    return static_cast<int>(copy);
  }
  int result = transfer(SYS_pread64, file, static_cast<gp::u64>(copy), range);
  if (result == 0 && range.protection != (PROT_READ | PROT_WRITE)) {
    result = static_cast<int>(raw_syscall(SYS_mprotect, copy, size, range.protection));
  }
  if (result == 0) {
    const long moved = raw_syscall(SYS_mremap, copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
                                   as_long(range.start));
    result = moved < 0 && moved > -4096 ? static_cast<int>(moved) : 0;
  }
  if (result < 0) {
    raw_syscall(SYS_munmap, copy, size);
  }
  return result;
}

int out_of_file(int file, const PageRange& range) {
  int result;
  {
    WritersHeld held(range);
    result = replace_by_copy(file, range);
  }
  if (result == 0) {
    release_file_pages(file, range);
  }
  return result;
}

struct Job {
  int (*work)(int file, const PageRange& range);
  int file;
  PageRange range;
  int result = 0;
  std::atomic<int> go{0}, done{0};
};

void wait_while_zero(std::atomic<int>& word) {
  while (word.load(std::memory_order_acquire) == 0) {
    raw_syscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, 0);
  }
}

void set_and_wake(std::atomic<int>& word) {
  word.store(1, std::memory_order_release);  // pairs with the acquire in wait_while_zero
  raw_syscall(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE_PRIVATE, 1);
}

void* run_job(void* argument) {
  auto* job = static_cast<Job*>(argument);
  wait_while_zero(job->go);
  job->result = job->work(job->file, job->range);
  set_and_wake(job->done);
  return nullptr;
}

// Lets the helper go and sleeps until it is done. From the first store to the end of the wait this
// writes to no memory but the job: no calls, everything in registers.
__attribute__((noinline)) void release_and_wait(Job* job) {
  job->go.store(1, std::memory_order_release);
  raw_syscall(SYS_futex, reinterpret_cast<long>(&job->go), FUTEX_WAKE_PRIVATE, 1);
  while (job->done.load(std::memory_order_acquire) == 0) {
    raw_syscall(SYS_futex, reinterpret_cast<long>(&job->done), FUTEX_WAIT_PRIVATE, 0);
  }
}

int run_on_helper(int (*work)(int, const PageRange&), int file, const PageRange& range) {
  // The job itself must not lie in the pages that move, so not on this stack.
  void* memory =
      mmap(nullptr, sizeof(Job), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return -ENOMEM;
  }
  Job* job = new (memory) Job{work, file, range};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // the helper inherits it
  pthread_t helper;
  int result = -pthread_create(&helper, nullptr, run_job, job);
  if (result == 0) {
    release_and_wait(job);
    pthread_join(helper, nullptr);
    result = job->result;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  munmap(memory, sizeof(Job));
  return result;
}

}  // namespace

int move_into_file(int file, const PageRange& range) {
  return run_on_helper(into_file, file, range);
}

int move_out_of_file(int file, const PageRange& range) {
  return run_on_helper(out_of_file, file, range);
}

int copy_out_of_file(int file, const PageRange& range) { return replace_by_copy(file, range); }

}  // namespace vgpu::preload
