#!/usr/bin/env python3
"""Many queues of many processes by one call or by many: gpreempt bench schemes."""

from running import bench

if __name__ == "__main__":
    bench(__doc__, "test_batch_unmap", ["schemes"])
