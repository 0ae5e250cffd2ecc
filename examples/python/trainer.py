#!/usr/bin/env python3
"""A training loop as an offline job: it may be stopped at any time, and never notices.

    gpreempt run --class offline -- examples/python/trainer.py --epochs 10

Prints one line of JSON: how many steps, how fast, and whether the weights are those that NumPy
gets, bit by bit.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

import gpreempt
from hip import PRIORITIES, Hip
from models import KERNELS, Perceptron


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20, help="of each epoch")
    parser.add_argument("--seconds", type=float, help="as many epochs as that takes instead")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--priority", choices=PRIORITIES, default="low", help="of the HIP stream")
    parser.add_argument("--tag", default="trainer", help="shown by gpreempt status")
    options = parser.parse_args()

    gpreempt.offline(tag=options.tag)  # before the first GPU call
    model = Perceptron(Hip(KERNELS, options.priority), options.batch)
    print("ready", file=sys.stderr, flush=True)
    begun, epoch, steps = time.monotonic(), 0, 0

    def goes_on() -> bool:
        if options.seconds is not None:
            return time.monotonic() - begun < options.seconds
        return epoch < options.epochs

    while goes_on():
        for _ in range(options.steps):
            model.step(steps)
            steps += 1
        model.hip.wait()
        epoch += 1
    duration = time.monotonic() - begun
    for step in range(steps):
        model.step_of_reference(step)
    print(json.dumps({"epochs": epoch, "steps": steps, "duration_s": duration,
                      "steps_per_s": steps / duration if duration else None,
                      "exact": model.is_exact()}))


if __name__ == "__main__":
    main()
