"""Online and offline work: what a program says of itself to gpreemptd.

    with gpreempt.online():            # offline jobs on our GPUs are stopped meanwhile
        answer = model(request)

    gpreempt.offline(tag="training")   # from here on this process can be stopped for online work
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import itertools
import os
from types import TracebackType
from typing import Any, Callable, List, Optional, Type, TypeVar, cast

from . import _abi
from ._agent import bring_agent, describe
from ._context import Held, encoded, shared_context
from ._marks import Marks, give_back, marks_for, warn_once
from .errors import GpreemptError

F = TypeVar("F", bound=Callable[..., Any])
CLASSES = {"offline": _abi.CLASS_OFFLINE, "normal": _abi.CLASS_NORMAL, "online": _abi.CLASS_ONLINE}
_numbers = itertools.count()


def class_number(cls: str) -> int:
    """ValueError for what is no class."""
    try:
        return CLASSES[cls]
    except KeyError:
        raise ValueError(f"class {cls!r}: one of {', '.join(CLASSES)}") from None


def _leave(marks: Marks, number: int) -> None:
    if marks.pid == os.getpid():  # not in a forked child: the mark is the parent's
        marks.leave(number)
        give_back(marks)


class online:  # a name for what follows `with` and @
    """Says that this process has online work to do, from `with` to the end of its block.

    Also `async with`, and a decorator of functions and coroutine functions. It may be used again,
    by several threads and tasks at once, and nested. `latency_target` (seconds) is for the policy
    `slo`. Without a daemon the program goes on, with one GpreemptWarning; `required=True` raises
    DaemonNotRunning instead. The mark ends with the block, however that ends, and with the process.

    Entering waits until gpreemptd has decided (some 100 us; a second if it hangs), also within
    `async with`.
    """

    def __init__(self, latency_target: Optional[float] = None, *, required: bool = False) -> None:
        if latency_target is not None and not latency_target > 0:
            raise ValueError(f"latency_target {latency_target}: a number of seconds above 0")
        self._target_ns = 0 if latency_target is None else max(1, round(latency_target * 1e9))
        self.latency_target = latency_target
        self.required = required
        self._entered: List[Held] = []

    def __enter__(self) -> online:
        return self._enter(4)

    def _enter(self, stacklevel: int) -> online:
        bring_agent()
        try:
            marks, number = marks_for(self._target_ns), next(_numbers)
            self._entered.append(Held(functools.partial(_leave, marks, number)))
            marks.join(number)
        except GpreemptError as error:
            if self.required:
                self._exit()
                raise
            warn_once(error, stacklevel)
        except BaseException:
            self._exit()
            raise
        return self

    def _exit(self) -> None:
        if self._entered:  # unless it was interrupted before anything happened
            self._entered.pop().release()

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._exit()

    async def __aenter__(self) -> online:
        return self._enter(4)

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self._exit()

    def __call__(self, function: F) -> F:
        def fresh() -> online:
            return online(self.latency_target, required=self.required)

        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def asynchronous(*arguments: Any, **named: Any) -> Any:
                async with fresh():
                    return await function(*arguments, **named)
            return cast(F, asynchronous)

        @functools.wraps(function)
        def synchronous(*arguments: Any, **named: Any) -> Any:
            with fresh():
                return function(*arguments, **named)
        return cast(F, synchronous)


def set_job(*, cls: Optional[str] = None, job: Optional[str] = None, tag: Optional[str] = None,
            priority: Optional[int] = None, latency_target: Optional[float] = None,
            pid: int = 0) -> None:
    """Tells gpreemptd what a process is, by default this one; what is None stays as it was.

    Processes of one user with the same `job` are stopped together. `priority` (0 to 15) is for the
    policy `priority`, `latency_target` (seconds) for `slo`. DaemonNotRunning; NotPermitted for a
    process of somebody else.
    """
    options = _abi.JobOptions(
        pid=pid, work_class=0 if cls is None else class_number(cls),
        has_priority=0 if priority is None else 1, priority=priority or 0,
        latency_target_ns=round((latency_target or 0) * 1e9), job=encoded(job), tag=encoded(tag))
    shared_context().ask_daemon("gpreempt_set_job", ctypes.byref(options))


class offline:
    """Makes this process an offline one, at once: it is stopped while online work has the GPU.

    Nothing else changes in it, and nothing is lost: kernels go on where they were interrupted. With
    `with`, only until the end of the block: normal then, which nobody stops. Without a daemon the
    program goes on, with one GpreemptWarning. Call it before the first GPU call, so that ROCm loads
    gpreempt's agent (`gpreempt run` does that for programs that are not changed at all).
    """

    def __init__(self, tag: Optional[str] = None, *, job: Optional[str] = None,
                 required: bool = False) -> None:
        self._pid = os.getpid()
        bring_agent()
        describe("offline", tag, job)
        try:
            set_job(cls="offline", tag=tag, job=job)
        except GpreemptError as error:
            if required:
                raise
            warn_once(error, 3)

    def __enter__(self) -> offline:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if self._pid != os.getpid():
            return
        describe("normal", None, None)
        try:
            set_job(cls="normal")
        except GpreemptError as failure:
            warn_once(failure, 3)
