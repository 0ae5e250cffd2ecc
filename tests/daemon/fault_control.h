/* What a test shares with the processes into which failing_calls.c is preloaded: whose call is to
 * fail, which one and how; how many there were. GPREEMPT_FAULTS names the file. */
#pragma once

#include <stdint.h>

/* Told from each other by the program's name and, in programs with an agent, GPREEMPT_FAULTS_ROLE.
 * In those only calls of the agent count. */
enum FaultRole {
  fault_role_none,
  fault_role_guardian,
  fault_role_daemon,
  fault_role_keeper,
  fault_role_offline,
  fault_role_online,
  fault_roles
};
enum FaultKind { fault_kind_call, fault_kind_allocation, fault_kinds };
enum { fault_most_ways = 4 }; /* in which one call can fail */

/* All of it is read and written by atomic operations. */
struct FaultControl {
  uint32_t counting;
  uint32_t role, kind, way; /* whose next call fails, and how */
  char only[32];            /* if not empty, other calls are not counted */
  uint64_t nth;             /* of that role, kind and way since counting began; 0: none */
  uint32_t fired;
  char what[64]; /* that failed, and how; whole before `fired` is set */
  uint64_t counts[fault_roles][fault_kinds][fault_most_ways];
};
