#!/usr/bin/env python3
"""The training loop in PyTorch: one line makes it an offline job.

    gpreempt run --class offline -- examples/python/torch_trainer.py --model resnet --epochs 10
"""

from __future__ import annotations

import argparse
import json
import time

import torch
from torch import nn
from torch_models import CLASSES, MODELS, device_of

import gpreempt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=sorted(MODELS), default="resnet")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=10, help="of each epoch")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--priority", choices=("low", "normal"), default="low",
                        help="low: its work is offline")
    parser.add_argument("--small", action="store_true", help="a tiny model")
    parser.add_argument("--cpu", action="store_true", help="without a GPU")
    options = parser.parse_args()

    torch.manual_seed(1)
    device = device_of(options.cpu)
    model = MODELS[options.model](options.small).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = [(model.inputs(options.batch, device),
                torch.randint(CLASSES, (options.batch,), device=device))
               for _ in range(options.steps)]
    begun, loss = time.monotonic(), torch.zeros(())
    for epoch in range(options.epochs):
        if options.priority == "low" and device.type != "cpu":
            loop = gpreempt.torch.train(batches, tag=options.model)  # it can be stopped from here
        else:
            loop = iter(batches)
        for inputs, targets in loop:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
        print(json.dumps({"model": options.model, "device": str(device), "epoch": epoch,
                          "loss": loss.item(), "seconds": time.monotonic() - begun}), flush=True)


if __name__ == "__main__":
    main()
