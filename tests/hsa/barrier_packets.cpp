// TEST: barrier-AND and barrier-OR packets wait for the signals they name, and complete
#include "hsa_program.h"

static void barrier_or(hsa_queue_t* queue, const std::vector<hsa_signal_t>& any,
                       hsa_signal_t done) {
  hsa_barrier_or_packet_t packet{};
  for (size_t i = 0; i < any.size(); i++) packet.dep_signal[i] = any[i];
  packet.completion_signal = done;
  submit(queue, packet, HSA_PACKET_TYPE_BARRIER_OR | kSystemFences | kBarrierBit);
}

int main() {
  Machine machine;
  hsa_queue_t* queue = machine.queue();
  for (auto how : {HSA_WAIT_STATE_BLOCKED, HSA_WAIT_STATE_ACTIVE}) {
    for (int i = 0; i < 200; i++) {
      const hsa_signal_t done = machine.signal(1);
      barrier_and(queue, {}, done);
      wait_for(done, 0, how);
      HSA(hsa_signal_destroy(done));
    }
  }

  // All five must be zero; the last one is set while the packet waits.
  std::vector<hsa_signal_t> inputs;
  for (int i = 0; i < 5; i++) inputs.push_back(machine.signal(1));
  hsa_signal_t done = machine.signal(1);
  barrier_and(queue, inputs, done);
  for (int i = 0; i < 5; i++) {
    EXPECT(hsa_signal_load_scacquire(done) == 1, "completed with %d of 5 signals", i);
    hsa_signal_store_screlease(inputs[i], 0);
  }
  wait_for(done);

  // One is enough.
  for (hsa_signal_t signal : inputs) hsa_signal_store_screlease(signal, 1);
  hsa_signal_store_screlease(done, 1);
  barrier_or(queue, inputs, done);
  EXPECT(hsa_signal_load_scacquire(done) == 1, "completed without a signal");
  hsa_signal_store_screlease(inputs[3], 0);
  wait_for(done);
  HSA(hsa_queue_destroy(queue));
  return pass("barrier packets");
}
