"""Stopping queues by hand.

    with gpreempt.suspend(gpreempt.queues(pid=1234), for_=1.0):
        ...                            # they are off the GPU, mid-kernel; here they run again

Every stop is a lease. The queues run again at the end of the block however that ends, when the time
is over, and when this process dies in any way: libgpreempt keeps that promise, not Python.
"""

from __future__ import annotations

import ctypes
import errno
import functools
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Iterable, List, Optional, Type, Union

from . import _abi
from ._context import Context, Held, encoded, shared_context
from .errors import GpreemptError
from .machine import Process, Queue

Target = Union[int, Process, Queue, Iterable[Queue]]

_STATES = {_abi.LEASE_HELD: "held", _abi.LEASE_ENDED: "ended", _abi.LEASE_DEADLINE: "deadline",
           _abi.LEASE_OWNER_DIED: "owner died", _abi.LEASE_TARGET_GONE: "target gone",
           _abi.LEASE_FAILED: "failed"}
_OUTCOMES = {_abi.OUTCOME_STOPPED: "stopped", _abi.OUTCOME_ALREADY: "already",
             _abi.OUTCOME_INVALID: "gone", _abi.OUTCOME_FAILED: "failed"}


@dataclass(frozen=True)
class StoppedQueue:
    """What became of one queue of a stop."""

    pid: int
    queue_id: int
    outcome: str  # "stopped"; "already": it was before; "gone"; "failed"
    mechanism: str


@dataclass(frozen=True)
class StopTimes:
    """Where the time of a stop went, in seconds: the library's share apart from the driver's."""

    before: float
    driver: float
    after: float

    @property
    def total(self) -> float:
        """From the call to its return."""
        return self.before + self.driver + self.after


@dataclass(frozen=True)
class Mechanism:
    """One way to stop queues."""

    name: str
    level: int  # 3 saves running waves, 1 only holds back new work
    inside: bool  # runs inside the target process, by an agent
    by_default: bool  # may be chosen without being named
    whole_process: bool  # cannot stop single queues
    needs: str
    notes: str


def mechanisms() -> List[Mechanism]:
    """All there are, the best first. `gpreempt doctor` says which work here."""
    context = shared_context()
    found = []
    for index in range(context.library.check("gpreempt_mechanism_count")):
        raw = _abi.MechanismInfo()
        context.library.check("gpreempt_mechanism", index, ctypes.byref(raw))
        found.append(Mechanism(raw.name.decode(), raw.level, bool(raw.inside), bool(raw.by_default),
                               bool(raw.whole_process), raw.needs.decode(), raw.notes.decode()))
    return found


def nanoseconds(seconds: float) -> int:
    """ValueError for what is no time to stop something for."""
    if not 0 < seconds <= _abi.LONGEST_LEASE_NS / 1e9:
        raise ValueError(f"{seconds} seconds: a stop lasts more than 0 s and at most 24 hours")
    return max(1, round(seconds * 1e9))


def _free(context: Context, handle: ctypes.c_void_p) -> None:
    lease, handle.value = handle.value, None
    if lease:
        context.library.call("gpreempt_lease_free", lease)


class Suspension:
    """Queues that are stopped, until `resume()`, the end of the `with` block, the deadline, or the
    end of this object. Made by `suspend()`."""

    def __init__(self, context: Context, function: str, *arguments: Any) -> None:
        self._context = context
        self._handle = ctypes.c_void_p()
        self._end: Optional[str] = None
        self.queues: List[StoppedQueue] = []
        # C writes the handle before Python can be interrupted: whoever drops this object resumes.
        self._held = Held(functools.partial(_free, context, self._handle))
        context.check(function, *arguments, ctypes.byref(self._handle))
        self.queues = self._queues()
        self.times = self._times()

    def _queues(self) -> List[StoppedQueue]:
        found = []
        for index in range(self._check("gpreempt_lease_queue_count")):
            raw = _abi.LeaseQueueInfo()
            self._check("gpreempt_lease_queue", index, ctypes.byref(raw))
            found.append(StoppedQueue(raw.pid, raw.queue_id, _OUTCOMES.get(raw.outcome, "unknown"),
                                      (raw.mechanism or b"").decode()))
        return found

    def _times(self) -> StopTimes:
        raw = _abi.StopTimes()
        self._check("gpreempt_lease_times", ctypes.byref(raw))
        return StopTimes(raw.before_ns / 1e9, raw.driver_ns / 1e9, raw.after_ns / 1e9)

    def _check(self, name: str, *arguments: Any) -> int:
        return self._context.library.check(name, self._handle, *arguments)

    @property
    def state(self) -> str:
        """"held", or why it ended: "ended", "deadline", "owner died", "target gone", "failed"."""
        if self._end is not None:
            return self._end
        state = _STATES.get(self._check("gpreempt_lease_state"), "unknown")
        if state != "held":
            self._end = state
        return state

    def extend(self, for_: float) -> None:
        """Sets the deadline to `for_` seconds from now. GpreemptError (ESTALE) if it has ended."""
        if self._end is not None:
            raise GpreemptError(errno.ESTALE, "the lease has ended", "stop the queues again")
        self._check("gpreempt_lease_extend", nanoseconds(for_))

    def resume(self) -> None:
        """Lets the queues run again, now. Twice, after the deadline, or in a forked child, where
        the lease is the parent's, it does nothing."""
        if self._end is not None:
            return
        try:
            self._check("gpreempt_lease_end")
            self._end = _STATES.get(self._check("gpreempt_lease_state"), "ended")
        except GpreemptError as error:
            if error.errno != errno.ECHILD:
                raise
        self._end = self._end or "ended"
        self._held.release()

    def __enter__(self) -> Suspension:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.resume()

    def __repr__(self) -> str:
        return f"<Suspension of {len(self.queues)} queues: {self.state}>"


def suspend(target: Target, for_: float, *, mechanism: Optional[str] = None,
            grace: int = 0) -> Suspension:
    """Stops queues for at most `for_` seconds, all or none, and returns when they are off the GPU.

    `target`: queues, of one or several processes; or a process (or its pid): all its queues, those
    too that it creates meanwhile. `mechanism`: None is the best that works. `grace`: time for
    running waves to end by themselves, in 1024 GPU clocks, at most 255; 0 is the driver's default.
    GpreemptError: nothing was stopped; NotSupported says why for each mechanism.
    """
    context = shared_context()
    options = _abi.StopOptions(duration_ns=nanoseconds(for_), mechanism=encoded(mechanism),
                               grace_1k_clocks=grace)
    if isinstance(target, (int, Process)):
        pid, start = (target, 0) if isinstance(target, int) else (target.pid, target.start_time)
        return Suspension(context, "gpreempt_stop_process", pid, start, ctypes.byref(options))
    chosen = [target] if isinstance(target, Queue) else list(target)
    names = (_abi.QueueName * max(1, len(chosen)))()
    for name, queue in zip(names, chosen):
        if queue.queue_id is None:
            raise ValueError(f"the id of a queue of process {queue.pid} is not known: "
                             f"suspend({queue.pid})")
        name.pid, name.queue_id, name.start_time = queue.pid, queue.queue_id, queue.start_time
    return Suspension(context, "gpreempt_stop_queues", names, len(chosen), ctypes.byref(options))


def prepare(target: Union[int, Process], *, mechanism: Optional[str] = None) -> None:
    """Attaches to a process ahead of time, so that its first stop is one driver call."""
    pid, start = (target, 0) if isinstance(target, int) else (target.pid, target.start_time)
    shared_context().check("gpreempt_prepare", pid, start, encoded(mechanism))
