"""What is there: GPUs, processes with queues, queues. What cannot be read is None."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Callable, Generic, List, Optional, Tuple, TypeVar

from . import _abi
from ._context import Context, encoded, shared_context
from ._html import html_table, text_table
from .work import CLASSES, class_number

T = TypeVar("T")
_CLASS_NAMES = {number: name for name, number in CLASSES.items()}
_TYPES = {_abi.QUEUE_COMPUTE: "compute", _abi.QUEUE_SDMA: "sdma", _abi.QUEUE_SDMA_XGMI: "sdma-xgmi"}


@dataclass(frozen=True)
class Node:
    """One GPU."""

    gpu_id: int
    gfx: str
    name: str
    cus: Optional[int]  # compute units, of the whole node
    xccs: Optional[int]
    hqds: Optional[int]  # hardware slots for compute queues
    hqds_active: Optional[int]  # of those, occupied
    save_area_bytes: Optional[int]  # memory that each queue keeps for its waves' state


@dataclass(frozen=True)
class Process:
    """One process that has queues."""

    pid: int
    start_time: int  # field 22 of /proc/<pid>/stat; 0: unknown
    cls: str
    uid: Optional[int]
    namespace_pid: Optional[int]  # its pid in its own pid namespace, where that differs
    queues: int
    command: str
    tag: str
    vram_bytes: Optional[int]


@dataclass(frozen=True)
class Queue:
    """One queue. It is named by process and id, never by the id alone."""

    pid: int
    start_time: int
    queue_id: Optional[int]
    gpu_id: int  # 0: unknown
    type: str
    cls: str  # of its process
    priority: Optional[int]
    mapped: Optional[bool]  # has a hardware slot now
    active: Optional[bool]  # the driver lets it run
    doorbell: Optional[int]
    ring_base: Optional[int]
    ring_bytes: Optional[int]
    read_index: Optional[int]  # in dwords; an AQL packet has 16
    write_index: Optional[int]
    saved_bytes: Optional[int]  # state of its waves, at the last unmap
    process: Process

    @property
    def idle(self) -> Optional[bool]:
        """Nothing waits in its ring. What was read may still run."""
        if self.read_index is None or self.write_index is None:
            return None
        return self.read_index == self.write_index


class Rows(List[T], Generic[T]):
    """A list that is a table in notebooks, with the reasons why something is unknown."""

    def __init__(self, rows: List[T], warnings: Tuple[str, ...] = (),
                 columns: Tuple[str, ...] = ()) -> None:
        super().__init__(rows)
        self.warnings = warnings
        self._columns = columns

    def _cells(self) -> List[List[Any]]:
        return [[getattr(row, column) for column in self._columns] for row in self]

    def __str__(self) -> str:
        return "\n".join([text_table(self._columns, self._cells()), *self.warnings])

    def _repr_html_(self) -> str:
        return html_table(self._columns, self._cells(), "; ".join(self.warnings))


_NODE = ("gpu_id", "name", "gfx", "cus", "hqds", "hqds_active")
_PROCESS = ("pid", "cls", "queues", "tag", "command")
_QUEUE = ("pid", "queue_id", "gpu_id", "type", "cls", "priority", "mapped", "active")


class Snapshot:
    """All of it at one moment. `sysfs` and `debugfs` name a saved copy (`gpreempt queues --help`).

    Without `debugfs` of the running system (it takes time and registers, and is for root) only ids,
    types and GPUs of queues are known.
    """

    def __init__(self, *, with_debugfs: bool = True, sysfs: Optional[str] = None,
                 debugfs: Optional[str] = None) -> None:
        saved = sysfs is not None or debugfs is not None
        context = Context(sysfs, debugfs) if saved else shared_context()
        self._library = context.library
        self._handle = ctypes.c_void_p()
        options = _abi.SnapshotOptions(without_debugfs=0 if with_debugfs else 1)
        context.check("gpreempt_snapshot_take", ctypes.byref(options), ctypes.byref(self._handle))
        self.warnings = tuple(
            _text(self._library.call("gpreempt_snapshot_warning", self._handle, i))
            for i in range(self._count("warning")))
        self.nodes = Rows(self._all("node", _abi.Node, _node), self.warnings, _NODE)
        self.processes = Rows(self._all("process", _abi.Process, _process), self.warnings, _PROCESS)

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.call("gpreempt_snapshot_free", self._handle)

    def queues(self, *, pid: Optional[int] = None, cls: Optional[str] = None,
               tag: Optional[str] = None,
               priority: Optional[Tuple[int, int]] = None) -> Rows[Queue]:
        """The queues for which all of it holds. One of unknown priority is in no range."""
        low, high = priority or (0, 0)
        wanted = _abi.Filter(
            match=(_abi.MATCH_PID if pid is not None else 0)
            | (_abi.MATCH_CLASS if cls is not None else 0)
            | (_abi.MATCH_TAG if tag is not None else 0)
            | (_abi.MATCH_PRIORITY if priority is not None else 0),
            pid=pid or 0, work_class=0 if cls is None else class_number(cls),
            priority_lowest=low, priority_highest=high, tag=encoded(tag))
        places = (ctypes.c_size_t * max(1, self._count("queue")))()
        found = self._library.check("gpreempt_snapshot_find", self._handle, ctypes.byref(wanted),
                                    places, len(places))
        return Rows([self._queue(places[i]) for i in range(found)], self.warnings, _QUEUE)

    def _count(self, what: str) -> int:
        return self._library.check(f"gpreempt_snapshot_{what}_count", self._handle)

    def _read(self, what: str, structure: Any, index: int) -> Any:
        place = structure()
        self._library.check(f"gpreempt_snapshot_{what}", self._handle, index, ctypes.byref(place))
        return place

    def _all(self, what: str, structure: Any, make: Callable[[Any], T]) -> List[T]:
        return [make(self._read(what, structure, i)) for i in range(self._count(what))]

    def _queue(self, index: int) -> Queue:
        raw = self._read("queue", _abi.Queue, index)
        known = _Known(raw)
        mapped = known("mapped", _abi.QUEUE_MAPPED)
        active = known("active", _abi.QUEUE_ACTIVE)
        return Queue(
            pid=raw.pid, start_time=raw.start_time, queue_id=known("queue_id", _abi.QUEUE_ID),
            gpu_id=raw.gpu_id, type=_TYPES.get(raw.type, "unknown"),
            cls=_CLASS_NAMES.get(raw.work_class, "unknown"),
            priority=known("priority", _abi.QUEUE_PRIORITY),
            mapped=None if mapped is None else bool(mapped),
            active=None if active is None else bool(active),
            doorbell=known("doorbell", _abi.QUEUE_DOORBELL),
            ring_base=known("ring_base", _abi.QUEUE_RING_BASE),
            ring_bytes=known("ring_bytes", _abi.QUEUE_RING_BYTES),
            read_index=known("read_index", _abi.QUEUE_READ_INDEX),
            write_index=known("write_index", _abi.QUEUE_WRITE_INDEX),
            saved_bytes=known("saved_bytes", _abi.QUEUE_SAVED_BYTES),
            process=self.processes[raw.process])


class _Known:
    """Reads a field, unless its bit says that it could not be read."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def __call__(self, field: str, bit: int) -> Optional[int]:
        return int(getattr(self._raw, field)) if self._raw.valid & bit else None


def _text(raw: Optional[bytes]) -> str:
    return (raw or b"").decode(errors="replace")


def _node(raw: Any) -> Node:
    known = _Known(raw)
    return Node(gpu_id=raw.gpu_id, gfx=_text(raw.gfx), name=_text(raw.name),
                cus=known("cus", _abi.NODE_CUS), xccs=known("xccs", _abi.NODE_XCCS),
                hqds=known("hqds", _abi.NODE_HQDS),
                hqds_active=known("hqds_active", _abi.NODE_HQDS_ACTIVE),
                save_area_bytes=known("save_area_bytes", _abi.NODE_SAVE_AREA))


def _process(raw: Any) -> Process:
    known = _Known(raw)
    return Process(pid=raw.pid, start_time=raw.start_time,
                   cls=_CLASS_NAMES.get(raw.work_class, "unknown"),
                   uid=known("uid", _abi.PROCESS_UID),
                   namespace_pid=known("namespace_pid", _abi.PROCESS_NAMESPACE_PID),
                   queues=raw.queues, command=_text(raw.command), tag=_text(raw.tag),
                   vram_bytes=known("vram_bytes", _abi.PROCESS_VRAM))


def queues(*, pid: Optional[int] = None, cls: Optional[str] = None, tag: Optional[str] = None,
           priority: Optional[Tuple[int, int]] = None, with_debugfs: bool = True) -> Rows[Queue]:
    """The queues of this machine, now. Class is that of the process by its priority or tag; what
    gpreemptd was told besides is in `status()`."""
    return Snapshot(with_debugfs=with_debugfs).queues(pid=pid, cls=cls, tag=tag, priority=priority)


def processes() -> Rows[Process]:
    """The processes with queues, now."""
    return Snapshot().processes


def nodes() -> Rows[Node]:
    """The GPUs."""
    return Snapshot().nodes
