#!/usr/bin/env python3
"""An inference server: requests come in by asyncio, the GPU answers them one by one as online work.

    gpreempt run --class online -- examples/python/server.py --model bert --requests 100
    examples/python/server.py --listen /tmp/bert.sock      # a line with a number is a request

Without --listen it asks itself, every --interval seconds, and prints what came of it as JSON: the
latency of each request from its intended arrival, and whether every answer was exact.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List

import gpreempt
from hip import PRIORITIES, Hip
from models import KERNELS, MODELS


class Server:
    """A model, and one thread that may use the GPU."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.check = options.check
        self.exact = True
        self._gpu = ThreadPoolExecutor(1)
        hip = Hip(KERNELS, options.priority)
        self.model = MODELS[options.model](hip, options.batch)

    async def answer(self, number: int) -> List[float]:
        """Of one request: the first values."""
        request = self.model.inputs(number)
        async with gpreempt.online():
            loop = asyncio.get_running_loop()
            answer = await loop.run_in_executor(self._gpu, self.model, request)
        if self.check:
            self.exact &= answer.tobytes() == self.model.reference(request).tobytes()
        return [float(value) for value in answer.ravel()[:4]]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A client's lines, until it has no more."""
        while line := await reader.readline():
            writer.write(json.dumps(await self.answer(int(line))).encode() + b"\n")
            await writer.drain()
        writer.close()


async def ask_itself(server: Server, requests: int, interval: float) -> Dict[str, Any]:
    """Requests at fixed times, however long the answers take."""
    begun = time.monotonic()
    arrivals = [number * interval for number in range(requests)]

    async def one(number: int, arrival: float) -> float:
        await asyncio.sleep(max(0.0, begun + arrival - time.monotonic()))
        await server.answer(number)
        return time.monotonic() - begun - arrival

    latencies = await asyncio.gather(*(one(n, arrival) for n, arrival in enumerate(arrivals)))
    return {"model": server.model.name, "duration_s": time.monotonic() - begun,
            "latency_ms": [1000 * each for each in latencies],
            "arrival_ms": [1000 * each for each in arrivals],
            "exact": server.exact if server.check else None}


async def run(options: argparse.Namespace) -> None:
    server = Server(options)
    print("ready", file=sys.stderr, flush=True)
    if options.listen:
        async with await asyncio.start_unix_server(server.serve, options.listen) as listening:
            await listening.serve_forever()
    print(json.dumps(await ask_itself(server, options.requests, options.interval)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=sorted(MODELS), default="bert")
    parser.add_argument("--batch", type=int, default=1, help="inputs of one request")
    parser.add_argument("--priority", choices=PRIORITIES, default="high", help="of the HIP stream")
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--interval", type=float, default=0.05, help="seconds between them")
    parser.add_argument("--check", action="store_true", help="compare every answer with NumPy's")
    parser.add_argument("--listen", metavar="SOCKET", help="serve others on a Unix socket")
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
