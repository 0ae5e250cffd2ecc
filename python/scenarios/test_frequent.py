#!/usr/bin/env python3
"""Requests every 100 ms and every 10 ms: gpreempt bench frequent."""

from running import bench

if __name__ == "__main__":
    bench(__doc__, "test_frequent", ["frequent"])
