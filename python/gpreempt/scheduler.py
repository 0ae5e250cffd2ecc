"""A scheduler for one process, without a daemon.

    scheduler = gpreempt.Scheduler()
    scheduler.register_offline_queue(queue)
    with scheduler:
        scheduler.notify_online_task()       # the offline queues are stopped
        answer()
        scheduler.online_task_complete()     # they run again

It decides nothing: offline queues are stopped while there is an online task. Stops, mechanisms and
leases are libgpreempt's, in this process. For several programs, policies and learnt pauses there is
gpreemptd; where one runs, use `gpreempt.online()`.
"""

from __future__ import annotations

import errno
import itertools
import os
import threading
import time
import warnings
from contextlib import contextmanager
from types import TracebackType
from typing import Dict, Iterator, List, Optional, Set, Tuple, Type, Union

from .errors import GpreemptError, GpreemptWarning
from .leases import Suspension, prepare, suspend
from .machine import Queue, Snapshot
from .statistics import Statistics

Key = Tuple[int, int]  # pid and queue id
_GONE = (errno.ENOENT, errno.ESRCH)


class Scheduler:
    """Stops registered offline queues while there are online tasks. Thread-safe.

    `max_stop`: the lease of a stop, in seconds, renewed with every new task. When a task takes
    longer, or is never completed, offline work goes on after that time.
    """

    def __init__(self, *, max_stop: float = 5.0, mechanism: Optional[str] = None) -> None:
        self.max_stop = max_stop
        self.mechanism = mechanism
        self.statistics = Statistics()
        self._lock = threading.RLock()
        self._online: Set[Key] = set()
        self._offline: Dict[Key, Queue] = {}
        self._tasks: Dict[int, float] = {}
        self._numbers = itertools.count(1)
        self._stop: Optional[Suspension] = None
        self._running = False

    # ---- queues ----

    def register_online_queue(self, queue: Union[Queue, int], pid: Optional[int] = None) -> None:
        """Never stopped, also if it is registered as offline. An id is one of `pid`, by default of
        this process."""
        with self._lock:
            self._online.add(_key(queue, pid))

    def register_offline_queue(self, queue: Union[Queue, int], pid: Optional[int] = None) -> None:
        """Stopped while there are online tasks; from the next one on. GpreemptError if there is no
        such queue."""
        found = queue if isinstance(queue, Queue) else _find(_key(queue, pid))
        with self._lock:
            self._offline[_key(found, None)] = found

    def unregister_queue(self, queue: Union[Queue, int], pid: Optional[int] = None) -> None:
        """Neither any more. A stop under way ends when it would have."""
        key = _key(queue, pid)
        with self._lock:
            self._online.discard(key)
            self._offline.pop(key, None)

    def _targets(self) -> List[Queue]:
        return [queue for key, queue in self._offline.items() if key not in self._online]

    # ---- life ----

    def start(self) -> None:
        """Attaches to the processes of offline queues, so that the first stop is quick."""
        with self._lock:
            self._running = True
            pids = {queue.pid for queue in self._targets()} - {os.getpid()}
        for pid in pids:
            try:
                prepare(pid, mechanism=self.mechanism)
            except GpreemptError as error:
                if error.errno not in _GONE:
                    self._failed(error)

    def stop(self) -> None:
        """All queues run again, whatever tasks there are."""
        with self._lock:
            self._running = False
            self._tasks.clear()
            self._resume()

    def __enter__(self) -> Scheduler:
        self.start()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.stop()

    # ---- tasks ----

    def notify_online_task(self) -> int:
        """An online task begins: returns its number when the offline queues are stopped, or when
        that has failed, which a GpreemptWarning says."""
        with self._lock:
            if not self._running:
                raise RuntimeError("the scheduler is not started: start(), or a with block")
            task = next(self._numbers)
            self._tasks[task] = time.monotonic()
            self.statistics.online_tasks += 1
            self._suspend()
            return task

    def online_task_complete(self, task: Optional[int] = None) -> None:
        """The task, by default the oldest, is done. After the last one offline queues run again."""
        with self._lock:
            if not self._tasks:
                return  # stop() has ended them
            begun = self._tasks.pop(next(iter(self._tasks)) if task is None else task, None)
            if begun is not None:
                self.statistics.online.add(time.monotonic() - begun)
            if not self._tasks:
                self._resume()

    @contextmanager
    def online_task(self) -> Iterator[None]:
        """Both, around a block."""
        task = self.notify_online_task()
        try:
            yield
        finally:
            self.online_task_complete(task)

    # ---- under the lock ----

    def _suspend(self) -> None:
        if self._stop is not None:
            if self._is_extended(self._stop):
                return
            self._end_of_stop()
        for _ in range(2):
            targets = self._targets()
            if not targets:
                return
            try:
                self._stop = suspend(targets, self.max_stop, mechanism=self.mechanism)
                self.statistics.suspend.add(self._stop.times.total)
                return
            except GpreemptError as error:
                if error.errno not in _GONE or not self._forget_gone():
                    self._failed(error)
                    return

    def _is_extended(self, stop: Suspension) -> bool:
        try:
            stop.extend(self.max_stop)
            return True
        except GpreemptError:
            return False  # its time was over: stop again

    def _resume(self) -> None:
        if self._stop is None:
            return
        begun = time.monotonic()
        try:
            self._stop.resume()
            self.statistics.resume.add(time.monotonic() - begun)
        except GpreemptError as error:
            self._failed(error)
        self._end_of_stop()

    def _end_of_stop(self) -> None:
        if self._stop is not None and self._stop.state == "deadline":
            self.statistics.deadlines += 1
        self._stop = None

    def _forget_gone(self) -> bool:
        """True: some had gone."""
        there = {_key(queue, None) for queue in Snapshot(with_debugfs=False).queues()
                 if queue.queue_id is not None}
        gone = [key for key in self._offline if key not in there]
        for key in gone:
            del self._offline[key]
        return bool(gone)

    def _failed(self, error: GpreemptError) -> None:
        self.statistics.failed_stops += 1
        if self.statistics.last_error != str(error):
            self.statistics.last_error = str(error)
            warnings.warn(f"offline work goes on: {error}", GpreemptWarning, stacklevel=4)

    # ---- what it has done ----

    def print_summary(self) -> None:
        """Prints the statistics."""
        print(f"{len(self._online)} online queues, {len(self._offline)} offline queues")
        print(self.statistics)


def _key(queue: Union[Queue, int], pid: Optional[int]) -> Key:
    if isinstance(queue, Queue):
        if queue.queue_id is None:
            raise ValueError(f"the id of a queue of process {queue.pid} is not known")
        return (queue.pid, queue.queue_id)
    return (os.getpid() if pid is None else pid, queue)


def _find(key: Key) -> Queue:
    for queue in Snapshot(with_debugfs=False).queues(pid=key[0]):
        if queue.queue_id == key[1]:
            return queue
    raise GpreemptError(errno.ENOENT, f"process {key[0]} has no queue {key[1]}",
                        "gpreempt queues shows them")
