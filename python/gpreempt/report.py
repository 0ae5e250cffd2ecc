"""Results of demo, bench and of the scenarios here: results.json (docs/report.md), read, written,
shown and compared. `gpreempt report FOLDER` makes the whole page of the same file."""

from __future__ import annotations

import datetime
import html
import json
import os
import platform
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from ._html import html_table, text_table
from .statistics import quantile

_PHASES = ("phase", "requests", "p50 ms", "p99 ms", "steps/s", "preemptions", "intact")
_CRITERIA = ("scenario", "what", "value", "limit", "unit", "verdict", "note")


class Results:
    """One results.json; `raw` is all of it."""

    def __init__(self, raw: Dict[str, Any], path: str = "") -> None:
        if raw.get("schema_version") != 1:
            raise ValueError(f"{path or 'results'}: schema_version is {raw.get('schema_version')}, "
                             "not 1: it was made by another gpreempt")
        self.raw = raw
        self.path = path

    @property
    def phases(self) -> List[Dict[str, Any]]:
        """As they are in the file."""
        return list(self.raw["phases"])

    @property
    def criteria(self) -> List[Dict[str, Any]]:
        """As they are in the file."""
        return list(self.raw["criteria"])

    def save(self, folder: str) -> str:
        """Writes folder/results.json and returns its path."""
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "results.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(self.raw, file, indent=1, allow_nan=False)
            file.write("\n")
        os.replace(path + ".new", path)
        return path

    def _tables(self) -> List[Tuple[Sequence[str], List[List[Any]]]]:
        phases = [[phase["name"], len(phase["online_latency_ms"]),
                   quantile(phase["online_latency_ms"], 0.5),
                   quantile(phase["online_latency_ms"], 0.99), phase.get("offline_steps_per_s"),
                   phase["preemptions"], phase.get("checksum_ok")] for phase in self.phases]
        criteria = [[each["scenario"], each["what"], each.get("value"), each["limit"],
                     each["unit"], verdict(each), each["note"]] for each in self.criteria]
        return [(head, rows) for head, rows in ((_PHASES, phases), (_CRITERIA, criteria)) if rows]

    def __str__(self) -> str:
        return "\n\n".join(text_table(head, rows) for head, rows in self._tables())

    def _repr_html_(self) -> str:
        kind = "virtual GPU: times of an emulator" if self.raw["environment"]["virtual_gpu"] else \
            self.raw["environment"]["device"]
        return "".join(html_table(head, rows, kind) for head, rows in self._tables())


def verdict(criterion: Dict[str, Any]) -> str:
    """"met", "missed", or why neither."""
    if criterion.get("unjudged"):
        return str(criterion["unjudged"])
    value = criterion.get("value")
    if value is None:
        return "missed"
    good = value >= criterion["limit"] if criterion["at_least"] else value <= criterion["limit"]
    return "met" if good else "missed"


def load(path: str) -> Results:
    """A folder with results.json, or the file."""
    file_name = os.path.join(path, "results.json") if os.path.isdir(path) else path
    with open(file_name, encoding="utf-8") as file:
        return Results(json.load(file), file_name)


def environment(command: str, virtual_gpu: bool, device: str) -> Dict[str, Any]:
    """What results.json says of the machine."""
    from . import __version__

    cpu = ""
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as info:
        for line in info:
            if line.startswith("model name"):
                cpu = line.partition(":")[2].strip()
                break
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"virtual_gpu": virtual_gpu, "device": device, "cpu": cpu,
            "cores": len(os.sched_getaffinity(0)), "kernel": platform.release(), "rocm": "",
            "gpreempt_version": __version__, "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "command": command}


def make(machine: Dict[str, Any], phases: Sequence[Dict[str, Any]] = (),
         criteria: Sequence[Dict[str, Any]] = ()) -> Results:
    """New results, from `environment()`, `phase()` and `criterion()`."""
    return Results({"schema_version": 1, "environment": machine, "interrupted": None,
                    "phases": list(phases), "criteria": list(criteria), "schemes": [],
                    "batching": None, "reservation": None, "lingers": []})


def phase(name: str, duration_s: float, latency_ms: Sequence[float] = (),
          arrival_ms: Sequence[float] = (), *, steps_per_s: Optional[float] = None,
          preemptions: int = 0, checksum_ok: Optional[bool] = None) -> Dict[str, Any]:
    """A phase of results.json; as many arrivals as latencies."""
    return {"name": name, "online_latency_ms": list(latency_ms),
            "online_arrival_ms": list(arrival_ms), "offline_steps_per_s": steps_per_s,
            "preemptions": preemptions, "checksum_ok": checksum_ok, "duration_s": duration_s,
            "timeline": []}


def criterion(scenario: str, what: str, value: Optional[float], limit: float, unit: str = "", *,
              at_least: bool = False, note: str = "",
              unjudged: Optional[str] = None) -> Dict[str, Any]:
    """A criterion of results.json. `unjudged`: "emulated", "not possible", "skipped" or "shown"."""
    return {"scenario": scenario, "what": what, "unit": unit, "limit": limit, "at_least": at_least,
            "value": value, "noise": None, "note": note, "others": None, "unjudged": unjudged}


@dataclass(frozen=True)
class Change:
    """One number of two results."""

    what: str
    unit: str
    before: Optional[float]
    after: Optional[float]

    @property
    def factor(self) -> Optional[float]:
        """After over before."""
        return self.after / self.before if self.before and self.after is not None else None


class Comparison:
    """Two results side by side."""

    COLUMNS = ("what", "before", "after", "unit", "after/before")

    def __init__(self, before: Results, after: Results) -> None:
        self.changes = _changes(before, after)
        machines = [(each.raw["environment"]["device"], each.raw["environment"]["cpu"])
                    for each in (before, after)]
        self.note = "" if machines[0] == machines[1] else \
            f"different machines: {', '.join(machines[0])} and {', '.join(machines[1])}"

    def _cells(self) -> List[List[Any]]:
        return [[each.what, each.before, each.after, each.unit, each.factor]
                for each in self.changes]

    def __str__(self) -> str:
        table = text_table(self.COLUMNS, self._cells())
        return f"{table}\n{self.note}" if self.note else table

    def _repr_html_(self) -> str:
        return html_table(self.COLUMNS, self._cells(), self.note)


def _changes(before: Results, after: Results) -> List[Change]:
    first, second = _numbers(before), _numbers(after)
    return [Change(what, unit, first.get((what, unit)), second.get((what, unit)))
            for what, unit in {**first, **second}]


def _numbers(results: Results) -> Dict[Tuple[str, str], Optional[float]]:
    numbers: Dict[Tuple[str, str], Optional[float]] = {}
    for each in results.phases:
        for name, part in (("p50", 0.5), ("p99", 0.99)):
            if each["online_latency_ms"]:
                numbers[f"{each['name']}: latency {name}", "ms"] = \
                    quantile(each["online_latency_ms"], part)
        if each.get("offline_steps_per_s") is not None:
            numbers[f"{each['name']}: offline", "steps/s"] = each["offline_steps_per_s"]
    for each in results.criteria:
        numbers[f"{each['scenario']}: {each['what']}", each["unit"]] = each.get("value")
    return numbers


def compare(before: Union[str, Results], after: Union[str, Results]) -> Comparison:
    """Two folders, files or Results."""
    first, second = (load(each) if isinstance(each, str) else each for each in (before, after))
    return Comparison(first, second)


def plot(results: Union[str, Results], path: Optional[str] = None) -> Any:
    """The latencies of all phases, as matplotlib's Figure; saved if `path` is given.
    ImportError without matplotlib: `gpreempt report --picture` needs none."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plot() needs matplotlib; `gpreempt report FOLDER --picture FILE` makes "
                          "a picture without it") from None

    shown = load(results) if isinstance(results, str) else results
    figure = Figure(figsize=(8, 4), layout="constrained")
    axes = figure.add_subplot()
    for each in shown.phases:
        values = sorted(each["online_latency_ms"])
        if values:
            axes.step(values, [(i + 1) / len(values) for i in range(len(values))], where="post",
                      label=each["name"])
    axes.set(xlabel="latency of requests, ms", ylabel="part of requests", xscale="log",
             ylim=(0, 1))
    if axes.has_data():
        axes.legend()
    if shown.raw["environment"]["virtual_gpu"]:
        axes.set_title("virtual GPU: times of an emulator")
    if path is not None:
        figure.savefig(path)
    return figure


def escaped(text: str) -> str:
    """For HTML."""
    return html.escape(text)
