#!/usr/bin/env python3
"""What an offline job loses: 5 minutes alone, 5 minutes beside 2 requests per second."""

from running import bench

if __name__ == "__main__":
    bench(__doc__, "test_throughput", ["throughput"], "5min")
