// TEST: another process stopped and started 10,000 times by criu gives bit-identical results
// LABELS: preempt mechanism
// PROFILES: mi210
// TIMEOUT: 300
// USES: gp_mechanism
#include "mechanism_another_process.h"

int main(int argc, char** argv) {
  return job::stop_another_process(gp::Mechanism::criu, argc, argv);
}
