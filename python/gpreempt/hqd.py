"""Hardware queue slots (HQDs): how many are free, and keeping some for online work.

A GPU has a few slots for compute queues; where there are more queues than slots they take turns,
online ones too. Names and shares are those of the first plan; what counts and reserves is
libgpreempt: with gpreempt's kernel patches (docs/kernel.md) the driver does both, without them
slots are read from debugfs, and none can be reserved.
"""

from __future__ import annotations

import ctypes
import threading
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Callable, Iterator, List, Optional, Type, TypeVar

from . import _abi
from ._context import Context, shared_context
from ._html import html_table, text_table
from .errors import GpreemptError, GpreemptWarning, LowSlotsWarning, NotSupported
from .leases import Suspension, suspend
from .machine import Queue, Rows, Snapshot, queues
from .scheduler import Scheduler

T = TypeVar("T")


@dataclass(frozen=True)
class HQDStatus:
    """The slots of one GPU; None is not known here."""

    gpu_id: int
    total: Optional[int]
    active: Optional[int]  # occupied
    free: Optional[int]
    reserved: Optional[int]  # for online work, by whomever
    waiting: Optional[int]  # offline queues that wait for a slot that is not reserved


_COLUMNS = ("gpu_id", "total", "active", "free", "reserved", "waiting")


class HQDResourceMonitor:
    """Reads the slots and warns when few are free.

    `low`: free slots of a GPU below which it warns. `on_low` is called with the GPU's status; by
    default that is a LowSlotsWarning. `start(interval)` looks by itself until `stop()`.
    """

    def __init__(self, low: int = 2, on_low: Optional[Callable[[HQDStatus], None]] = None) -> None:
        self.low = low
        self._on_low = on_low or _warn
        self._end = threading.Event()
        self._thread: Optional[threading.Thread] = None

    def status(self) -> List[HQDStatus]:
        """One of each GPU."""
        return [self._status(node.gpu_id, node.hqds, node.hqds_active) for node in Snapshot().nodes]

    def _status(self, gpu_id: int, hqds: Optional[int], active: Optional[int]) -> HQDStatus:
        raw = _abi.Slots()
        try:
            shared_context().check("gpreempt_slots_of", gpu_id, ctypes.byref(raw))
        except NotSupported:
            free = None if hqds is None or active is None else max(0, hqds - active)
            return HQDStatus(gpu_id, hqds, active, free, None, None)
        occupied = min(raw.slots, raw.active_queues)
        return HQDStatus(gpu_id, raw.slots, occupied, raw.slots - occupied, raw.reserved,
                         raw.waiting_queues)

    def check(self) -> List[HQDStatus]:
        """The GPUs that have few free slots; each is warned of."""
        low = [gpu for gpu in self.status() if gpu.free is not None and gpu.free < self.low]
        for gpu in low:
            self._on_low(gpu)
        return low

    def start(self, interval: float = 1.0) -> None:
        """Looks every `interval` seconds, in a thread that does not keep the program alive."""
        self.stop()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(interval, self._end),
                                        name="gpreempt-hqds", daemon=True)
        self._thread.start()

    def _watch(self, interval: float, end: threading.Event) -> None:
        while not end.wait(interval):
            try:
                self.check()
            except GpreemptError as error:
                warnings.warn(f"the slots are not watched any more: {error}", GpreemptWarning,
                              stacklevel=1)
                return

    def stop(self) -> None:
        """Returns when it looks no more."""
        self._end.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._thread = None

    def __enter__(self) -> HQDResourceMonitor:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.stop()

    def __str__(self) -> str:
        return text_table(_COLUMNS, ([getattr(gpu, c) for c in _COLUMNS] for gpu in self.status()))

    def _repr_html_(self) -> str:
        return html_table(_COLUMNS, ([getattr(gpu, c) for c in _COLUMNS] for gpu in self.status()))


def _warn(gpu: HQDStatus) -> None:
    warnings.warn(f"GPU {gpu.gpu_id}: {gpu.free} of {gpu.total} hardware queue slots are free; "
                  "beyond them queues take turns, online ones too", LowSlotsWarning, stacklevel=3)


class SlotReservation:
    """Slots that are kept for online work until `end()`, or the end of this object or process: at
    least `online_percent` of a GPU's, and all but `offline_percent` (None: the rest)."""

    def __init__(self, online_percent: int, offline_percent: Optional[int] = None,
                 gpu_id: int = 0) -> None:
        self._context = Context()  # its own: the reservation ends with it
        rest = 100 - online_percent if offline_percent is None else offline_percent
        self._context.check("gpreempt_reserve_percent", gpu_id, online_percent, rest)

    def end(self) -> None:
        """The slots are everybody's again."""
        self._context.close()


class SmartQueueScheduler(Scheduler):
    """A Scheduler with a share of the slots reserved for online work, and eyes on those that are
    free.

    At least `online_reservation` percent of the slots are for online work alone, and offline work
    gets at most `offline_limit` percent, from `start()` to `stop()`. Where that cannot be done a
    GpreemptWarning says why, and the rest works.
    """

    def __init__(self, online_reservation: int = 10, offline_limit: int = 80, *, low: int = 2,
                 max_stop: float = 5.0, mechanism: Optional[str] = None) -> None:
        super().__init__(max_stop=max_stop, mechanism=mechanism)
        self.online_reservation = online_reservation
        self.offline_limit = offline_limit
        self.monitor = HQDResourceMonitor(low)
        self.reservation: Optional[SlotReservation] = None
        self._room: Optional[Suspension] = None

    def start(self) -> None:
        super().start()
        try:
            self.reservation = SlotReservation(self.online_reservation, self.offline_limit)
        except GpreemptError as error:
            warnings.warn(f"no slots are reserved: {error}", GpreemptWarning, stacklevel=2)

    def stop(self) -> None:
        super().stop()
        if self._room is not None:
            self._room.resume()
            self._room = None
        if self.reservation is not None:
            self.reservation.end()
            self.reservation = None

    @contextmanager
    def handle_online_request(self) -> Iterator[None]:
        """Around the work of a request: warns if slots are few, and stops offline queues."""
        if self.statistics.online_tasks % 100 == 0:  # debugfs is slow
            self.monitor.check()
        with self.online_task():
            yield

    def discover_queues_by_priority(self, lo: int, hi: int) -> Rows[Queue]:
        """Queues of all processes with lo <= priority <= hi, for register_offline_queue() and
        register_online_queue(). Priorities come from debugfs, which is for root."""
        return queues(priority=(lo, hi))

    def unmap_idle_offline_queues(self, for_: float = 1.0) -> int:
        """Takes registered offline queues that have nothing to do off their slots, for `for_`
        seconds; returns how many. What is put into them meanwhile waits until then."""
        with self._lock:
            if self._stop is not None:
                return 0  # all of them are off
            if self._room is not None:
                self._room.resume()
                self._room = None
            registered = {(queue.pid, queue.queue_id) for queue in self._targets()}
            idle = [queue for queue in Snapshot().queues() if queue.idle and queue.mapped
                    and (queue.pid, queue.queue_id) in registered]
            if idle:
                self._room = suspend(idle, for_, mechanism=self.mechanism)
            return len(idle)

    def _suspend(self) -> None:
        if self._room is not None:  # a queue has one lease at a time
            self._room.resume()
            self._room = None
        super()._suspend()

    def print_statistics(self) -> None:
        """Prints what was done, and the slots."""
        self.print_summary()
        print(self.monitor)
