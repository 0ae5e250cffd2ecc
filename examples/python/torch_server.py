#!/usr/bin/env python3
"""The inference server in PyTorch: three lines make its work online.

    gpreempt run --class online -- examples/python/torch_server.py --model bert --requests 1000

It asks itself, every --interval seconds, and prints latencies from the intended arrival as JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, List

import torch
from torch_models import MODELS, device_of

import gpreempt


async def serve(model: Any, inputs: Any, requests: int, interval: float) -> List[float]:
    """The latency of each request."""
    gpu = ThreadPoolExecutor(1)
    begun = time.monotonic()

    def answer() -> Any:
        with torch.no_grad():
            return model(inputs).argmax(dim=1).tolist()

    async def one(arrival: float) -> float:
        await asyncio.sleep(max(0.0, begun + arrival - time.monotonic()))
        await asyncio.get_running_loop().run_in_executor(gpu, answer)
        return time.monotonic() - begun - arrival

    return list(await asyncio.gather(*(one(n * interval) for n in range(requests))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=sorted(MODELS), default="bert")
    parser.add_argument("--batch", type=int, default=1, help="inputs of one request")
    parser.add_argument("--priority", choices=("normal", "high"), default="high",
                        help="of the stream")
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--interval", type=float, default=0.05, help="seconds between them")
    parser.add_argument("--small", action="store_true", help="a tiny model")
    parser.add_argument("--cpu", action="store_true", help="without a GPU")
    options = parser.parse_args()

    device = device_of(options.cpu)
    bare = MODELS[options.model](options.small).to(device).eval()
    model = gpreempt.torch.wrap(bare)  # each call is online work until the GPU has done it
    inputs = bare.inputs(options.batch, device)

    def on_stream(batch: Any) -> Any:
        with gpreempt.torch.stream("online" if options.priority == "high" else "offline"):
            return model(batch)

    latencies = asyncio.run(serve(on_stream, inputs, options.requests, options.interval))
    print(json.dumps({"model": options.model, "device": str(device),
                      "latency_ms": [1000 * each for each in latencies]}))


if __name__ == "__main__":
    main()
