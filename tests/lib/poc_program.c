/* A program as it was written against the early API, in C: suspends the queues of a process, waits
 * for a line, resumes them.
 *   poc_program PID */
#include <stdio.h>
#include <stdlib.h>

#include "gpreempt_poc_v2.h"

int main(int argc, char** argv) {
  queue_info_t* queues = NULL;
  uint32_t count = 0, ids[64], i;
  if (argc < 2 || gpreempt_poc_init() != 0 ||
      gpreempt_find_queues_by_process(atoi(argv[1]), &queues, &count) != 0 || count > 64) {
    return 1;
  }
  for (i = 0; i < count; i++) {
    ids[i] = queues[i].queue_id;
  }
  gpreempt_free_queue_info(queues);
  if (gpreempt_batch_unmap_queues(ids, count, 1000) != 0) {
    return 2;
  }
  printf("%s\n", gpreempt_poc_last_mechanism());
  fflush(stdout);
  if (getchar() == EOF || gpreempt_fast_remap_queues(ids, count) != 0) {
    return 3;
  }
  gpreempt_poc_cleanup();
  printf("resumed\n");
  return 0;
}
