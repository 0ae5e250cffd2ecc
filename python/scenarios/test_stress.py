#!/usr/bin/env python3
"""A request every 10 ms for 10 minutes, beside many queues and many processes."""

from running import bench

if __name__ == "__main__":
    bench(__doc__, "test_stress", ["stress"], "10min")
