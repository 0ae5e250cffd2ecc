#!/usr/bin/env python3
"""Stops and starts of 1, 10 and 64 queues by each mechanism: gpreempt bench latency."""

from running import bench

if __name__ == "__main__":
    bench(__doc__, "test_latency", ["latency"])
