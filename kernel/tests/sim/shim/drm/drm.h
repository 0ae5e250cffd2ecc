/* linux/kfd_ioctl.h wants this header for the two it includes; Debian's linux-libc-dev lacks it. */
#include <linux/ioctl.h>
#include <linux/types.h>
