/* A program in C that tells gpreemptd what it does. It has one queue on the GPU, says "ready" and
 * then obeys its standard input; each line is answered by what the function returned.
 *   begin [NANOSECONDS] | end | job NAME | class NUMBER | priority NUMBER | text
 *   status: how long it is, and its beginning, cut by us */
#include <gpreempt/gpreempt.h>
#include <hsa/hsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hsa_status_t find_gpu(hsa_agent_t agent, void* found) {
  hsa_device_type_t type;
  if (hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type) == HSA_STATUS_SUCCESS &&
      type == HSA_DEVICE_TYPE_GPU) {
    *(hsa_agent_t*)found = agent;
  }
  return HSA_STATUS_SUCCESS;
}

static int set_job(gpreempt_context* context, const char* what, char* value) {
  struct gpreempt_job_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  if (strcmp(what, "job") == 0) {
    options.job = value;
  } else if (strcmp(what, "class") == 0) {
    options.work_class = (uint32_t)atoi(value);
  } else {
    options.has_priority = 1;
    options.priority = (uint32_t)atoi(value);
  }
  return gpreempt_set_job(context, &options);
}

static void show_status(gpreempt_context* context) {
  char beginning[8];
  const long length = (long)gpreempt_status_json(context, NULL, 0);
  const long again = (long)gpreempt_status_json(context, beginning, sizeof beginning);
  printf("%ld %s\n", length, again > 0 ? beginning : "");
}

static int obey(gpreempt_context* context, char* line) {
  char* value = strchr(line, ' ');
  if (value != NULL) {
    *value++ = '\0';
  }
  if (strcmp(line, "begin") == 0) {
    return gpreempt_online_begin(context, value != NULL ? strtoull(value, NULL, 10) : 0);
  }
  if (strcmp(line, "end") == 0) {
    return gpreempt_online_end(context);
  }
  return value != NULL ? set_job(context, line, value) : -1;
}

int main(void) {
  gpreempt_context* context = NULL;
  hsa_agent_t gpu = {0};
  hsa_queue_t* queue = NULL;
  char line[256];
  if (hsa_init() != HSA_STATUS_SUCCESS ||
      hsa_iterate_agents(find_gpu, &gpu) != HSA_STATUS_SUCCESS ||
      hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_SINGLE, NULL, NULL, 0, 0, &queue) !=
          HSA_STATUS_SUCCESS ||
      gpreempt_open(NULL, &context) != 0) {
    return 1;
  }
  puts("ready");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "text") == 0) {
      printf("%s\n", gpreempt_error_text());
    } else if (strcmp(line, "status") == 0) {
      show_status(context);
    } else {
      printf("%d\n", obey(context, line));
    }
    fflush(stdout);
  }
  gpreempt_close(context);
  return 0;
}
