#include "bench/scenario.h"

namespace gp::bench {

std::span<const Scenario> scenarios() {
  static constexpr Scenario kAll[] = {
      {"basic", "an offline job, requests now and then", run_basic},
      {"beside", "request latency beside an offline job over that alone", run_beside},
      {"throughput", "what an offline job loses at 2 requests per second", run_throughput},
      {"frequent", "requests every 100 ms and every 10 ms", run_frequent},
      {"notice", "from online's first packet to the stop, with 1 and 64 idle clients", run_notice},
      {"idle", "what a daemon costs that has nothing to do", run_idle},
      {"edge", "nothing to stop, twice the same, everybody at once", run_edge},
      {"latency", "stops and starts of 1, 10 and 64 queues by each mechanism", run_latency},
      {"schemes", "the same load under every mechanism", run_schemes},
      {"stress", "a request every 10 ms beside many queues and many processes", run_stress},
      {"stability", "random arrivals for long: leaks, lost results, jobs left stopped",
       run_stability},
  };
  return kAll;
}

}  // namespace gp::bench
