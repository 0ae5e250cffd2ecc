"""What gpreemptd knows and does: `gpreempt status`."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

from ._context import Context, shared_context
from ._html import html_table, text_table


@dataclass(frozen=True)
class Job:
    """Processes that are stopped together."""

    job: str
    cls: str
    state: str
    pids: Tuple[int, ...]
    busy: Optional[bool]
    mechanism: Optional[str]
    level: Optional[int]
    preemptions: int
    stopped_s: Optional[float]
    last_stop_ms: Optional[float]
    last_start_ms: Optional[float]
    error: Optional[str]


_COLUMNS = ("job", "cls", "state", "mechanism", "preemptions", "stopped_s", "last_stop_ms",
            "last_start_ms", "pids")


class Status:
    """One answer of gpreemptd; `raw` is all of it, as `gpreempt status --json` prints it."""

    def __init__(self, raw: Dict[str, Any]) -> None:
        self.raw = raw
        self.daemon_pid: int = raw["daemon_pid"]
        self.policy: str = raw["policy"]
        self.jobs: List[Job] = [_job(each) for each in raw["jobs"]]

    def job_of(self, pid: int) -> Optional[Job]:
        """The job that a process is part of."""
        return next((job for job in self.jobs if pid in job.pids), None)

    def _cells(self) -> List[List[Any]]:
        return [[", ".join(map(str, job.pids)) if column == "pids" else getattr(job, column)
                 for column in _COLUMNS] for job in self.jobs]

    def _title(self) -> str:
        return f"gpreemptd (pid {self.daemon_pid}), policy {self.policy}"

    def __str__(self) -> str:
        return self._title() + "\n" + (text_table(_COLUMNS, self._cells()) if self.jobs
                                       else "No jobs.")

    def _repr_html_(self) -> str:
        return html_table(_COLUMNS, self._cells(), self._title())


def _scaled(value: Optional[float], divisor: float) -> Optional[float]:
    return None if value is None else value / divisor


def _job(raw: Dict[str, Any]) -> Job:
    return Job(job=raw["job"], cls=raw["class"], state=raw["state"], pids=tuple(raw["pids"]),
               busy=raw["busy"], mechanism=raw["mechanism"], level=raw["level"],
               preemptions=raw["preemptions"], stopped_s=_scaled(raw["stopped_us_total"], 1e6),
               last_stop_ms=_scaled(raw["last_stop_us"], 1e3),
               last_start_ms=_scaled(raw["last_start_us"], 1e3), error=raw["error"])


def _json_text(context: Context) -> bytes:
    capacity = 16384
    while True:
        text = ctypes.create_string_buffer(capacity)
        length = context.ask_daemon("gpreempt_status_json", text, capacity)
        if length < capacity:
            return text.value
        capacity = length + 4096  # somebody may have come meanwhile


def status() -> Status:
    """Asks gpreemptd. DaemonNotRunning if there is none."""
    return Status(json.loads(_json_text(shared_context())))
