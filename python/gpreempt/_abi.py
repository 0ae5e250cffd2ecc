"""The C API as ctypes sees it: include/gpreempt/gpreempt.h as data, without logic.

tests/python/test_layout.py compiles the header and compares every structure, constant and function.
"""

from __future__ import annotations

import ctypes
from ctypes import (POINTER, c_char, c_char_p, c_int, c_size_t, c_ssize_t, c_uint32, c_uint64,
                    c_void_p)
from typing import Any, Dict, List, Tuple

VERSION_MAJOR = 0
VERSION_MINOR = 1
VERSION_PATCH = 0

CLASS_OFFLINE = 1
CLASS_NORMAL = 2
CLASS_ONLINE = 3

QUEUE_UNKNOWN = 0
QUEUE_COMPUTE = 1
QUEUE_SDMA = 2
QUEUE_SDMA_XGMI = 3

NODE_CUS = 1 << 0
NODE_XCCS = 1 << 1
NODE_HQDS = 1 << 2
NODE_HQDS_ACTIVE = 1 << 3
NODE_SAVE_AREA = 1 << 4

PROCESS_UID = 1 << 0
PROCESS_NAMESPACE_PID = 1 << 1
PROCESS_VRAM = 1 << 2

QUEUE_ID = 1 << 0
QUEUE_PRIORITY = 1 << 1
QUEUE_MAPPED = 1 << 2
QUEUE_ACTIVE = 1 << 3
QUEUE_RING_BASE = 1 << 4
QUEUE_RING_BYTES = 1 << 5
QUEUE_READ_INDEX = 1 << 6
QUEUE_WRITE_INDEX = 1 << 7
QUEUE_DOORBELL = 1 << 8
QUEUE_SAVED_BYTES = 1 << 9

MATCH_PID = 1 << 0
MATCH_CLASS = 1 << 1
MATCH_TAG = 1 << 2
MATCH_PRIORITY = 1 << 3
MATCH_RING = 1 << 4

LONGEST_LEASE_NS = 86400000000000
MOST_QUEUES = 1024

LEASE_HELD = 0
LEASE_ENDED = 1
LEASE_DEADLINE = 2
LEASE_OWNER_DIED = 3
LEASE_TARGET_GONE = 4
LEASE_FAILED = 5

OUTCOME_STOPPED = 0
OUTCOME_ALREADY = 1
OUTCOME_INVALID = 2
OUTCOME_FAILED = 3

# Of <sys/types.h> on Linux.
c_pid_t = c_int
c_uid_t = c_uint32


class Sized(ctypes.Structure):
    """A structure that begins with its size, set when it is made."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=ctypes.sizeof(type(self)), **fields)


class OpenOptions(Sized):
    """How to open the library."""

    _fields_ = [("size", c_size_t), ("sysfs", c_char_p), ("debugfs", c_char_p),
                ("online_from", c_uint32), ("offline_to", c_uint32), ("socket", c_char_p)]


class SnapshotOptions(Sized):
    """What a snapshot reads."""

    _fields_ = [("size", c_size_t), ("without_debugfs", c_uint32), ("with_occupancy", c_uint32)]


class Node(Sized):
    """One GPU."""

    _fields_ = [("size", c_size_t), ("valid", c_uint32), ("gpu_id", c_uint32), ("gfx", c_char_p),
                ("name", c_char_p), ("cus", c_uint32), ("xccs", c_uint32), ("hqds", c_uint32),
                ("hqds_active", c_uint32), ("save_area_bytes", c_uint64)]


class Process(Sized):
    """One process that has queues."""

    _fields_ = [("size", c_size_t), ("valid", c_uint32), ("pid", c_pid_t),
                ("start_time", c_uint64), ("work_class", c_uint32), ("uid", c_uid_t),
                ("namespace_pid", c_pid_t), ("queues", c_uint32), ("command", c_char_p),
                ("tag", c_char_p), ("vram_bytes", c_uint64)]


class Queue(Sized):
    """One queue."""

    _fields_ = [("size", c_size_t), ("valid", c_uint32), ("pid", c_pid_t),
                ("start_time", c_uint64), ("queue_id", c_uint32), ("gpu_id", c_uint32),
                ("type", c_uint32), ("work_class", c_uint32), ("priority", c_uint32),
                ("mapped", c_uint32), ("active", c_uint32), ("doorbell", c_uint32),
                ("ring_base", c_uint64), ("ring_bytes", c_uint64), ("read_index", c_uint64),
                ("write_index", c_uint64), ("saved_bytes", c_uint64), ("process", c_size_t)]


class Filter(Sized):
    """Which queues."""

    _fields_ = [("size", c_size_t), ("match", c_uint32), ("pid", c_pid_t),
                ("work_class", c_uint32), ("priority_lowest", c_uint32),
                ("priority_highest", c_uint32), ("tag", c_char_p), ("ring_first", c_uint64),
                ("ring_end", c_uint64)]


class Event(Sized):
    """A queue that has come or gone."""

    _fields_ = [("size", c_size_t), ("appeared", c_uint32), ("pid", c_pid_t),
                ("start_time", c_uint64), ("queue_id", c_uint32), ("gpu_id", c_uint32),
                ("type", c_uint32), ("reserved", c_uint32)]


class MechanismInfo(Sized):
    """One way to stop queues."""

    _fields_ = [("size", c_size_t), ("name", c_char_p), ("needs", c_char_p), ("notes", c_char_p),
                ("level", c_uint32), ("inside", c_uint32), ("by_default", c_uint32),
                ("whole_process", c_uint32)]


class ProbeResult(Sized):
    """Whether a mechanism works on a process."""

    _fields_ = [("size", c_size_t), ("usable", c_uint32), ("reserved", c_uint32),
                ("reason", c_char * 256), ("hint", c_char * 256)]


class StopOptions(Sized):
    """How to stop, and for how long."""

    _fields_ = [("size", c_size_t), ("duration_ns", c_uint64), ("mechanism", c_char_p),
                ("owner", c_pid_t), ("grace_1k_clocks", c_uint32)]


class QueueName(ctypes.Structure):
    """What names a queue."""

    _fields_ = [("pid", c_pid_t), ("queue_id", c_uint32), ("start_time", c_uint64)]


class LeaseQueueInfo(Sized):
    """What became of one queue of a stop."""

    _fields_ = [("size", c_size_t), ("pid", c_pid_t), ("queue_id", c_uint32),
                ("start_time", c_uint64), ("outcome", c_uint32), ("reserved", c_uint32),
                ("mechanism", c_char_p)]


class StopTimes(Sized):
    """Where the time of a stop went."""

    _fields_ = [("size", c_size_t), ("before_ns", c_uint64), ("driver_ns", c_uint64),
                ("after_ns", c_uint64)]


class Slots(Sized):
    """The hardware slots of a GPU as a patched driver counts them."""

    _fields_ = [("size", c_size_t), ("slots", c_uint32), ("reserved", c_uint32),
                ("active_queues", c_uint32), ("waiting_queues", c_uint32)]


class JobOptions(Sized):
    """What a process tells gpreemptd of itself."""

    _fields_ = [("size", c_size_t), ("pid", c_pid_t), ("work_class", c_uint32),
                ("has_priority", c_uint32), ("priority", c_uint32),
                ("latency_target_ns", c_uint64), ("job", c_char_p), ("tag", c_char_p)]


# The name of each in C.
STRUCTURES: Dict[str, Any] = {
    "gpreempt_open_options": OpenOptions,
    "gpreempt_snapshot_options": SnapshotOptions,
    "gpreempt_node": Node,
    "gpreempt_process": Process,
    "gpreempt_queue": Queue,
    "gpreempt_filter": Filter,
    "gpreempt_event": Event,
    "gpreempt_mechanism_info": MechanismInfo,
    "gpreempt_probe_result": ProbeResult,
    "gpreempt_stop_options": StopOptions,
    "gpreempt_queue_name": QueueName,
    "gpreempt_lease_queue_info": LeaseQueueInfo,
    "gpreempt_stop_times": StopTimes,
    "gpreempt_slots": Slots,
    "gpreempt_job_options": JobOptions,
}

_handle = c_void_p
_place = POINTER(c_void_p)

# Name: what it returns, what it takes. In the order of the header.
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "gpreempt_version": (c_uint32, []),
    "gpreempt_version_text": (c_char_p, []),
    "gpreempt_error_text": (c_char_p, []),
    "gpreempt_error_hint": (c_char_p, []),
    "gpreempt_open": (c_int, [POINTER(OpenOptions), _place]),
    "gpreempt_close": (None, [_handle]),
    "gpreempt_snapshot_take": (c_int, [_handle, POINTER(SnapshotOptions), _place]),
    "gpreempt_snapshot_free": (None, [_handle]),
    "gpreempt_snapshot_node_count": (c_ssize_t, [_handle]),
    "gpreempt_snapshot_node": (c_int, [_handle, c_size_t, POINTER(Node)]),
    "gpreempt_snapshot_process_count": (c_ssize_t, [_handle]),
    "gpreempt_snapshot_process": (c_int, [_handle, c_size_t, POINTER(Process)]),
    "gpreempt_snapshot_queue_count": (c_ssize_t, [_handle]),
    "gpreempt_snapshot_queue": (c_int, [_handle, c_size_t, POINTER(Queue)]),
    "gpreempt_snapshot_warning_count": (c_ssize_t, [_handle]),
    "gpreempt_snapshot_warning": (c_char_p, [_handle, c_size_t]),
    "gpreempt_snapshot_find": (c_ssize_t, [_handle, POINTER(Filter), POINTER(c_size_t), c_size_t]),
    "gpreempt_watch_open": (c_int, [_handle, _place]),
    "gpreempt_watch_fd": (c_int, [_handle]),
    "gpreempt_watch_next": (c_int, [_handle, POINTER(Event)]),
    "gpreempt_watch_close": (None, [_handle]),
    "gpreempt_mechanism_count": (c_ssize_t, []),
    "gpreempt_mechanism": (c_int, [c_size_t, POINTER(MechanismInfo)]),
    "gpreempt_probe": (c_int, [_handle, c_char_p, c_pid_t, c_uint64, POINTER(ProbeResult)]),
    "gpreempt_prepare": (c_int, [_handle, c_pid_t, c_uint64, c_char_p]),
    "gpreempt_stop_queues": (c_int, [_handle, POINTER(QueueName), c_size_t, POINTER(StopOptions),
                                     _place]),
    "gpreempt_stop_process": (c_int, [_handle, c_pid_t, c_uint64, POINTER(StopOptions), _place]),
    "gpreempt_stop_class": (c_int, [_handle, c_uint32, POINTER(StopOptions), _place]),
    "gpreempt_lease_end": (c_int, [_handle]),
    "gpreempt_lease_free": (None, [_handle]),
    "gpreempt_lease_extend": (c_int, [_handle, c_uint64]),
    "gpreempt_lease_state": (c_int, [_handle]),
    "gpreempt_lease_fd": (c_int, [_handle]),
    "gpreempt_lease_queue_count": (c_ssize_t, [_handle]),
    "gpreempt_lease_queue": (c_int, [_handle, c_size_t, POINTER(LeaseQueueInfo)]),
    "gpreempt_lease_times": (c_int, [_handle, POINTER(StopTimes)]),
    "gpreempt_reserve_slots": (c_int, [_handle, c_uint32, c_uint32]),
    "gpreempt_reserve_percent": (c_int, [_handle, c_uint32, c_uint32, c_uint32]),
    "gpreempt_slots_of": (c_int, [_handle, c_uint32, POINTER(Slots)]),
    "gpreempt_online_begin": (c_int, [_handle, c_uint64]),
    "gpreempt_online_end": (c_int, [_handle]),
    "gpreempt_set_job": (c_int, [_handle, POINTER(JobOptions)]),
    "gpreempt_status_json": (c_ssize_t, [_handle, c_char_p, c_size_t]),
}
