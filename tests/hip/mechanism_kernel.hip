// TEST: another process stopped and started 10,000 times by kernel gives bit-identical results
// LABELS: preempt mechanism
// PROFILES: mi210
// TIMEOUT: 300
// RUN: --kernel-patches on
// USES: gp_mechanism
#include "mechanism_another_process.h"

int main(int argc, char** argv) {
  return job::stop_another_process(gp::Mechanism::kernel, argc, argv);
}
