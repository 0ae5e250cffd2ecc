"""gpreempt: urgent GPU work takes the GPU from other work, mid-kernel, and gives it back.

    with gpreempt.online(): ...              offline jobs on our GPUs are stopped meanwhile
    gpreempt.offline(tag="training")         this process can be stopped
    gpreempt.queues(pid=1234)                what is on the GPUs
    with gpreempt.suspend(1234, for_=1.0): ...   by hand; always resumed
    gpreempt.status()                        what gpreemptd knows and does
    gpreempt.Scheduler                       one process, without a daemon
    gpreempt.torch, gpreempt.report          for PyTorch; results of measurements

docs/python.md says more. Nothing happens when this is imported: libgpreempt is loaded at the first
call that needs it.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from .errors import (DaemonNotRunning, GpreemptError, GpreemptWarning, LibraryError,
                     LowSlotsWarning, NotPermitted, NotSupported)
from .hqd import HQDResourceMonitor, HQDStatus, SlotReservation, SmartQueueScheduler
from .leases import (Mechanism, StoppedQueue, StopTimes, Suspension, mechanisms, prepare, suspend)
from .machine import Node, Process, Queue, Rows, Snapshot, nodes, processes, queues
from .scheduler import Scheduler
from .state import Job, Status, status
from .statistics import Statistics, Times
from .work import offline, online, set_job

if TYPE_CHECKING:
    from . import report, torch

__version__ = "0.1.0"
__all__ = [
    "DaemonNotRunning", "GpreemptError", "GpreemptWarning", "HQDResourceMonitor", "HQDStatus",
    "Job", "LibraryError", "LowSlotsWarning", "Mechanism", "Node", "NotPermitted", "NotSupported",
    "Process", "Queue", "Rows", "Scheduler", "SlotReservation", "SmartQueueScheduler", "Snapshot",
    "Statistics", "Status", "StopTimes", "StoppedQueue", "Suspension", "Times", "library_path",
    "library_version", "mechanisms", "nodes", "offline", "online", "prepare", "processes", "queues",
    "report", "set_job", "status", "suspend", "torch",
]


def __getattr__(name: str) -> ModuleType:
    if name in ("report", "torch"):
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module 'gpreempt' has no attribute {name!r}")


def library_version() -> str:
    """Of libgpreempt, which is loaded for it."""
    from ._library import library

    return library().version


def library_path() -> str:
    """Which libgpreempt is used: a path, or the name by which the loader found it."""
    from ._library import library

    return library().path
