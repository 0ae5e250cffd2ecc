#!/usr/bin/env python3
"""Nothing to stop, twice the same, everybody at once: gpreempt bench edge."""

from running import bench

if __name__ == "__main__":
    bench(__doc__, "test_edge", ["edge"])
