#!/usr/bin/env python3
"""Random arrivals for an hour: leaks, lost results, jobs left stopped."""

from running import bench

if __name__ == "__main__":
    bench(__doc__, "test_stability", ["stability"])
