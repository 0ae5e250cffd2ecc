// Queues without HIP, for what HIP does only now and then: their packets are barriers, which do
// nothing but complete.
#pragma once

#include <hsa/hsa.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"

inline void bare_check(hsa_status_t status, const char* what) {
  EXPECT(status == HSA_STATUS_SUCCESS, "%s: 0x%x", what, status);
}
#define BARE(call) bare_check(call, #call)

class BareSignal {
 public:
  explicit BareSignal(hsa_signal_value_t value) {
    BARE(hsa_signal_create(value, 0, nullptr, &signal_));
  }
  BareSignal(const BareSignal&) = delete;
  BareSignal& operator=(const BareSignal&) = delete;
  ~BareSignal() { hsa_signal_destroy(signal_); }

  hsa_signal_t get() const { return signal_; }
  hsa_signal_value_t value() const { return hsa_signal_load_scacquire(signal_); }
  void store(hsa_signal_value_t value) { hsa_signal_store_screlease(signal_, value); }
  void wait_for_zero() const {
    while (hsa_signal_wait_scacquire(signal_, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX,
                                     HSA_WAIT_STATE_BLOCKED) != 0) {
    }
  }

 private:
  hsa_signal_t signal_;
};

class BareQueue {
 public:
  explicit BareQueue(u32 packets = 64, hsa_queue_type_t type = HSA_QUEUE_TYPE_MULTI) {
    BARE(hsa_queue_create(gpu(), packets, type, nullptr, nullptr, 0, 0, &queue_));
  }
  BareQueue(const BareQueue&) = delete;
  BareQueue& operator=(const BareQueue&) = delete;
  ~BareQueue() { BARE(hsa_queue_destroy(queue_)); }

  u64 reserve() {
    const u64 index = hsa_queue_add_write_index_scacq_screl(queue_, 1);
    while (index - hsa_queue_load_read_index_scacquire(queue_) >= queue_->size) usleep(100);
    return index;
  }
  // A barrier packet that waits for `wait_for`, if any, and then takes 1 off `completes`.
  void fill(u64 index, const BareSignal& completes, const BareSignal* wait_for = nullptr) {
    auto* packet =
        static_cast<hsa_barrier_and_packet_t*>(queue_->base_address) + (index & (queue_->size - 1));
    std::memset(&packet->reserved0, 0, sizeof *packet - sizeof packet->header);
    if (wait_for != nullptr)
      packet->dep_signal[0] = wait_for->get();
    packet->completion_signal = completes.get();
    constexpr u16 kHeader = HSA_PACKET_TYPE_BARRIER_AND | 1 << HSA_PACKET_HEADER_BARRIER;
    __atomic_store_n(&packet->header, kHeader, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
  }
  void submit(const BareSignal& completes, const BareSignal* wait_for = nullptr) {
    fill(reserve(), completes, wait_for);
  }

 private:
  static hsa_agent_t gpu() {
    static const hsa_agent_t agent = [] {
      hsa_agent_t found{};
      BARE(hsa_init());
      BARE(hsa_iterate_agents(
          [](hsa_agent_t candidate, void* out) {
            hsa_device_type_t type;
            BARE(hsa_agent_get_info(candidate, HSA_AGENT_INFO_DEVICE, &type));
            if (type == HSA_DEVICE_TYPE_GPU)
              *static_cast<hsa_agent_t*>(out) = candidate;
            return HSA_STATUS_SUCCESS;
          },
          &found));
      return found;
    }();
    return agent;
  }

  hsa_queue_t* queue_ = nullptr;
};

// `queues` queues of both kinds with one packet each.
class ManyQueues {
 public:
  explicit ManyQueues(u32 queues) : left_(queues) {
    for (u32 i = 0; i < queues; i++) {
      const hsa_queue_type_t type = i % 2 == 0 ? HSA_QUEUE_TYPE_MULTI : HSA_QUEUE_TYPE_SINGLE;
      queues_.push_back(std::make_unique<BareQueue>(64, type));
      queues_.back()->submit(left_);
    }
  }
  hsa_signal_value_t left() const { return left_.value(); }

 private:
  BareSignal left_;  // destroyed after the queues
  std::vector<std::unique_ptr<BareQueue>> queues_;
};

// Reserves a place in the ring, and fills it only when the packet before it has completed.
class ReservedPlace {
 public:
  ReservedPlace() {
    queue_.submit(first_);
    place_ = queue_.reserve();
  }
  void use() {
    first_.wait_for_zero();
    queue_.fill(place_, second_);
    second_.wait_for_zero();
  }

 private:
  BareSignal first_{1}, second_{1};
  BareQueue queue_;
  u64 place_ = 0;
};

// Packets that wait at the second one, in a ring that may be too small for them.
class Row {
 public:
  explicit Row(u32 packets) : left_(packets), packets_(packets) {
    submitter_ = std::thread([this] {
      for (u32 i = 0; i < packets_; i++) {
        queue_.submit(left_, i == 1 ? &go_ : nullptr);
        submitted_++;
      }
    });
  }
  ~Row() { submitter_.join(); }
  u32 submitted() const { return submitted_; }
  hsa_signal_value_t left() const { return left_.value(); }
  void go() { go_.store(0); }

 private:
  BareSignal left_, go_{1};
  BareQueue queue_;
  u32 packets_;
  std::atomic<u32> submitted_{0};
  std::thread submitter_;
};
