"""Times that were measured, and what one wants to know of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence

from ._html import html_table, text_table


def quantile(values: Sequence[float], part: float) -> Optional[float]:
    """The smallest value that at least `part` of all do not exceed; None of nothing."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]


@dataclass
class Times:
    """Seconds, the latest `MOST`; the count is of all."""

    MOST = 100_000
    count: int = 0
    values: List[float] = field(default_factory=list)

    def add(self, seconds: float) -> None:
        """One more."""
        self.count += 1
        if len(self.values) >= self.MOST:
            del self.values[:self.MOST // 2]
        self.values.append(seconds)

    @property
    def mean(self) -> Optional[float]:
        """None of nothing."""
        return sum(self.values) / len(self.values) if self.values else None

    @property
    def p50(self) -> Optional[float]:
        """The median."""
        return quantile(self.values, 0.5)

    @property
    def p99(self) -> Optional[float]:
        """99 of 100 are not longer."""
        return quantile(self.values, 0.99)


_COLUMNS = ("", "count", "mean ms", "p50 ms", "p99 ms")


@dataclass
class Statistics:
    """What a Scheduler has done. A stop that failed left offline work running."""

    online_tasks: int = 0
    suspend: Times = field(default_factory=Times)
    resume: Times = field(default_factory=Times)
    online: Times = field(default_factory=Times)  # from notify_online_task to online_task_complete
    failed_stops: int = 0
    deadlines: int = 0  # stops that ended because their time was over
    last_error: str = ""

    def _cells(self) -> List[List[Any]]:
        def ms(seconds: Optional[float]) -> Optional[float]:
            return None if seconds is None else seconds * 1000

        return [[name, times.count, ms(times.mean), ms(times.p50), ms(times.p99)]
                for name, times in (("suspend", self.suspend), ("resume", self.resume),
                                    ("online", self.online))]

    def as_dict(self) -> Dict[str, Any]:
        """For JSON; unknown is None."""
        numbers: Dict[str, Any] = {"online_tasks": self.online_tasks,
                                   "failed_stops": self.failed_stops, "deadlines": self.deadlines}
        for name, times in (("suspend", self.suspend), ("resume", self.resume),
                            ("online", self.online)):
            numbers[name] = {"count": times.count, "mean_s": times.mean, "p50_s": times.p50,
                             "p99_s": times.p99}
        return numbers

    def __str__(self) -> str:
        lines = [f"online tasks: {self.online_tasks}, stops that failed: {self.failed_stops}, "
                 f"ended by their deadline: {self.deadlines}",
                 text_table(_COLUMNS, self._cells())]
        return "\n".join(lines + ([f"last failure: {self.last_error}"] if self.last_error else []))

    def _repr_html_(self) -> str:
        return html_table(_COLUMNS, self._cells(),
                          f"{self.online_tasks} online tasks, {self.failed_stops} stops failed")
