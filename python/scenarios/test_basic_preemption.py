#!/usr/bin/env python3
"""An offline job, online requests now and then: gpreempt bench basic."""

from running import bench

if __name__ == "__main__":
    bench(__doc__, "test_basic_preemption", ["basic"])
