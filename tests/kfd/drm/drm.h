// Stands in for the DRM header, which <linux/kfd_ioctl.h> includes for its integer types alone and
// which distributions ship apart from it.
#pragma once

#include <linux/types.h>
#include <sys/ioctl.h>
