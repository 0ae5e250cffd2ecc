// TEST: processes held by BATCH_UNMAP_QUEUES stand still, and go on bit for bit after FAST_REMAP
// LABELS: preempt
// RUN: --kernel-patches on
// SANITIZE: 20
// TIMEOUT: 240
// USES: gp_os
#include <sys/mman.h>
#include <sys/prctl.h>

#include <atomic>

#include "abi/kfd_preempt.h"
#include "kfd_control.h"
#include "preempt_counter.h"
#include "preempt_workload.h"
#include "processes.h"

namespace abi = gp::abi;

// What a victim tells and is told, in memory that all processes share.
struct Board {
  std::atomic<u32> looks, counted;  // how often the counter was looked at, and what it said last
  std::atomic<u32> ready, runs, end;
};

// A victim must not outlive a test that failed.
static pid_t start_victim(int (*body)(Board&), Board& board) {
  return start_process([&] {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return body(board);
  });
}

// Lets a kernel count that only ends when it is told to.
static int count(Board& board) {
  Counter counter;
  counter.launch();
  while (!board.end) {
    board.counted = counter.value();
    board.looks++;
    usleep(100);
  }
  counter.finish();
  return 0;
}

// Computes the same again and again.
static int compute(Board& board) {
  Workload workload;
  const Results undisturbed = workload.run();
  for (board.ready = 1; !board.end; board.runs++) {
    EXPECT(workload.run() == undisturbed, "run %u differs", board.runs.load());
  }
  return 0;
}

static u32 count_after_a_few_looks(const Board& board) {
  for (const u32 start = board.looks; board.looks < start + 3;) usleep(100);
  return board.counted;
}

static void wait_for_progress(const Board& board) {
  for (const u32 start = board.counted; board.counted == start;) usleep(100);
}

class Holder {
 public:
  explicit Holder(const std::vector<pid_t>& pids) {
    lease_ = give_time(abi::preempt_lease_create, 0);
    for (const pid_t pid : pids) {
      entries_.push_back({static_cast<u32>(pid), 0, 0, abi::kPreemptAllQueues, 0, 0});
    }
  }
  ~Holder() { close(static_cast<int>(lease_)); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  void stop() {
    give_time(abi::preempt_lease_renew, lease_);  // all of them take longer on a busy machine
    batch(_IOWR('K', abi::kfd_batch_unmap_queues, abi::BatchQueuesArgs), abi::preempt_save);
  }
  void start() { batch(_IOWR('K', abi::kfd_fast_remap, abi::BatchQueuesArgs), 0); }

 private:
  // Without a deadline it would stop nobody else.
  u32 give_time(u32 op, u32 lease_fd) {
    abi::PreemptLeaseArgs lease = {op, lease_fd, abi::kPreemptMaxTimeoutMs, 0};
    if (ioctl(control_.fd(), _IOWR('K', abi::kfd_preempt_lease, abi::PreemptLeaseArgs), &lease))
      kfd::fail("PREEMPT_LEASE");
    return lease.lease_fd;
  }
  void batch(unsigned long request, u32 type) {
    abi::BatchQueuesArgs args = {};
    args.entries_ptr = reinterpret_cast<u64>(entries_.data());
    args.num_entries = static_cast<u32>(entries_.size());
    args.entry_size = sizeof(abi::PreemptEntry);
    args.lease_fd = lease_;
    args.type = type;
    if (ioctl(control_.fd(), request, &args) != 0)
      kfd::fail("BATCH_UNMAP_QUEUES or FAST_REMAP");
    if (entries_[0].status == -EPERM) {
      std::printf("skipped: to stop other processes needs CAP_SYS_NICE\n");
      std::exit(77);
    }
    for (const abi::PreemptEntry& entry : entries_) {
      EXPECT(entry.status == 0, "process %u: status %d", entry.target, entry.status);
    }
  }
  kfd::Control control_;
  u32 lease_;
  std::vector<abi::PreemptEntry> entries_;
};

int main(int argc, char** argv) {
  void* shared =
      mmap(nullptr, 3 * sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT(shared != MAP_FAILED, "mmap");
  Board* boards = static_cast<Board*>(shared);
  const std::vector<pid_t> pids = {
      start_victim(count, boards[0]),
      start_victim(compute, boards[1]),
      start_victim(compute, boards[2]),
  };
  wait_for_progress(boards[0]);
  while (!boards[1].ready || !boards[2].ready) usleep(1000);

  {
    Holder holder(pids);
    // The kernel that counts does not end by itself: if it stands still, its waves were saved.
    for (u32 i = 0; i < 10; i++) {
      wait_for_progress(boards[0]);
      holder.stop();
      const u32 stopped_at = count_after_a_few_looks(boards[0]);
      EXPECT(count_after_a_few_looks(boards[0]) == stopped_at, "counts on");
      holder.start();
    }
    Random random(7);
    for (u32 i = 0; i < cycles_wanted(argc, argv, 1000); i++) {
      wait_microseconds(random.below(1500));
      holder.stop();
      wait_microseconds(random.below(3) == 0 ? random.below(500) : 0);
      holder.start();
    }
    holder.stop();
  }
  // The end of the lease gave back what it held.
  wait_for_progress(boards[0]);
  for (u32 i = 0; i < 3; i++) boards[i].end = 1;
  for (const pid_t pid : pids) EXPECT(wait_for(pid) == 0, "process %d failed", pid);
  std::printf("%u and %u runs\n", boards[1].runs.load(), boards[2].runs.load());
  return pass("held by the kernel's calls");
}
