"""A Python program for the tests: each line is a statement as a JSON text, and is answered by the
value of the last expression, or {"raised": ...}. With --gpu it has a queue on the GPU."""

from __future__ import annotations

import ast
import asyncio  # noqa: F401  names for statements
import ctypes
import faulthandler
import json
import multiprocessing  # noqa: F401
import os  # noqa: F401
import signal
import sys
import threading  # noqa: F401
import time  # noqa: F401
import traceback
from typing import Any, Dict

import gpreempt  # noqa: F401


def create_queue() -> None:
    """By ROCr itself, which takes less time than HIP."""
    hsa = ctypes.CDLL("libhsa-runtime64.so.1")
    gpus = []
    look = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)

    @look
    def is_gpu(agent: int, _: Any) -> int:
        kind = ctypes.c_int()
        # HSA_AGENT_INFO_DEVICE is 17, HSA_DEVICE_TYPE_GPU 1 (hsa.h).
        hsa.hsa_agent_get_info(ctypes.c_uint64(agent), 17, ctypes.byref(kind))
        if kind.value == 1:
            gpus.append(agent)
        return 0

    assert hsa.hsa_init() == 0
    assert hsa.hsa_iterate_agents(is_gpu, None) == 0
    queue = ctypes.c_void_p()
    assert hsa.hsa_queue_create(ctypes.c_uint64(gpus[0]), 64, 1, None, None, 0, 0,
                                ctypes.byref(queue)) == 0


def obey(statement: str, names: Dict[str, Any]) -> Any:
    """The value of the last expression."""
    body = ast.parse(statement).body
    value = None
    for each in body:
        if each is body[-1] and isinstance(each, ast.Expr):
            value = eval(compile(ast.Expression(each.value), "line", "eval"), names)
        else:
            exec(compile(ast.Module([each], []), "line", "exec"), names)
    return value


def main() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: ends with the test
    if "--gpu" in sys.argv:
        create_queue()
    faulthandler.register(signal.SIGUSR2)  # for whoever wonders where one hangs
    print("ready", flush=True)
    names = dict(globals())
    for line in sys.stdin:
        try:
            answer = obey(json.loads(line), names)
        except BaseException as error:
            traceback.print_exc()
            answer = {"raised": type(error).__name__}
        print(json.dumps(answer, default=str), flush=True)


if __name__ == "__main__":
    main()
