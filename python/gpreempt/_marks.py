"""Online work of this process: one mark at gpreemptd for all of it that overlaps.

A mark is begun for the first and ended with the last; those in between cost no message. Who holds
it is kept as a set, not counted: a holder that an exception has left behind can still be removed
once.
"""

from __future__ import annotations

import errno
import os
import threading
import time
import warnings
from collections import deque
from typing import Deque, Optional, Set

from ._context import Context, in_forked_child
from .errors import DaemonNotRunning, GpreemptError, GpreemptWarning

_MAKE_AGAIN_S = 1.0


class Marks:
    """Makes the mark for its holders over a connection of its own."""

    def __init__(self, latency_target_ns: int = 0) -> None:
        self.pid = os.getpid()
        self.context = Context()
        self.latency_target_ns = latency_target_ns
        self._lock = threading.RLock()
        self._holders: Set[int] = set()
        self._begun = False
        self._begun_at = 0.0

    def join(self, holder: int) -> None:
        """GpreemptError: there is no mark; `holder` is one, and the next to join tries again."""
        with self._lock:
            self._holders.add(holder)
            if self._begun:
                self._make_again()
                return
            self._begun = True  # first: an interrupt may come as soon as the mark is made
            try:
                self._begin()
            except BaseException:
                self._end()
                raise

    def leave(self, holder: int) -> None:
        """Leaving twice is no error."""
        with self._lock:
            self._holders.discard(holder)
            if self._begun and not self._holders:
                self._end()

    def _begin(self) -> None:
        self.context.ask_daemon("gpreempt_online_begin", self.latency_target_ns)
        self._begun_at = time.monotonic()

    def _make_again(self) -> None:
        # A daemon that was restarted meanwhile hears of the mark with the next call.
        if time.monotonic() - self._begun_at > _MAKE_AGAIN_S:
            self._begin()
            self.context.ask_daemon("gpreempt_online_end")

    def _end(self) -> None:
        try:
            self.context.ask_daemon("gpreempt_online_end")
        except GpreemptError as error:
            # EINVAL: it never began. Otherwise the connection is broken, and the mark gone with it.
            if error.errno != errno.EINVAL:
                self.context.close()
                self.context = Context()
        self._begun = False


class _Process:
    """What this process has, and a forked child has not."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.shared: Optional[Marks] = None
        # For requests with a latency target: each needs a mark of its own.
        self.spare: Deque[Marks] = deque(maxlen=16)
        self.has_warned = False


_process = _Process()
_follows_forks = False


def _forget() -> None:
    global _process
    _process = _Process()


def marks_for(latency_target_ns: int) -> Marks:
    """Where to join."""
    global _follows_forks
    if not _follows_forks:
        _follows_forks = True
        in_forked_child(_forget)
    process = _process
    if latency_target_ns == 0:
        with process.lock:
            if process.shared is None:
                process.shared = Marks()
            return process.shared
    try:
        marks = process.spare.pop()
    except IndexError:
        return Marks(latency_target_ns)
    marks.latency_target_ns = latency_target_ns
    return marks


def give_back(marks: Marks) -> None:
    """Nobody holds it any more."""
    if marks.latency_target_ns != 0 and marks not in _process.spare:
        _process.spare.append(marks)


def warn_once(error: GpreemptError, stacklevel: int) -> None:
    """The program goes on without a scheduler, and hears so once."""
    if not _process.has_warned:
        _process.has_warned = True
        what = "gpreemptd is not running, so nothing is scheduled" \
            if isinstance(error, DaemonNotRunning) else "gpreemptd has refused"
        warnings.warn(f"{what}: {error}", GpreemptWarning, stacklevel=stacklevel)
