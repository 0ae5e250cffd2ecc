"""Results are read, written, compared and shown; what is written here, `gpreempt report` reads."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD

from gpreempt import report


def results(factor: float = 1.0) -> report.Results:
    latencies = [factor * (1 + number / 10) for number in range(100)]
    machine = report.environment("test", True, "virtual GPU")
    return report.make(machine, [report.phase("online-alone", 5, latencies, latencies),
                                 report.phase("offline-alone", 5, steps_per_s=7 / factor,
                                              checksum_ok=True)],
                       [report.criterion("s", "p99 <b>", 2 * factor, 3, "ms"),
                        report.criterion("s", "done", None, 1, at_least=True),
                        report.criterion("s", "hardware", 9, 1, "ms", unjudged="emulated")])


def test_what_is_written_is_read_by_gpreempt_report(tmp_path: Path) -> None:
    path = results().save(str(tmp_path))
    subprocess.run([str(BUILD / "bin/gpreempt"), "report", str(tmp_path)], check=True)
    page = (tmp_path / "report.html").read_text()
    assert "p99 &lt;b&gt;" in page and "emulator" in page
    again = report.load(str(tmp_path))
    assert again.raw == results().raw | {"environment": again.raw["environment"]}
    assert report.load(path).raw == again.raw


def test_verdicts() -> None:
    assert [report.verdict(each) for each in results().criteria] == ["met", "missed", "emulated"]


def test_another_schema_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps({**results().raw, "schema_version": 2}))
    with pytest.raises(ValueError, match="schema_version is 2, not 1"):
        report.load(str(tmp_path))


def test_they_are_tables() -> None:
    assert "p99 &lt;b&gt;" in results()._repr_html_() and "emulator" in results()._repr_html_()
    assert "online-alone" in str(results()) and "N/A" in str(results())


def test_two_are_compared(tmp_path: Path) -> None:
    changes = {each.what: each for each in report.compare(results(), results(2)).changes}
    assert changes["online-alone: latency p50"].factor == pytest.approx(2)
    assert changes["offline-alone: offline"].factor == pytest.approx(0.5)
    assert changes["s: done"].factor is None
    other = results()
    other.raw["environment"]["device"] = "another"
    assert "different machines" in str(report.compare(results(), other))
    results().save(str(tmp_path / "before"))
    other.save(str(tmp_path / "after"))
    assert "<table>" in report.compare(str(tmp_path / "before"),
                                       str(tmp_path / "after"))._repr_html_()


def test_without_matplotlib_plot_says_what_to_do() -> None:
    statement = """
import sys
sys.modules['matplotlib'] = None
from gpreempt import report
report.plot(report.make({'virtual_gpu': True, 'device': ''}))
"""
    ended = subprocess.run([sys.executable, "-c", statement], check=False, text=True,
                           capture_output=True)
    assert "plot() needs matplotlib; `gpreempt report FOLDER --picture FILE`" in ended.stderr


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None,
                    reason="no matplotlib (apt: python3-matplotlib)")
def test_a_plot_is_drawn(tmp_path: Path) -> None:
    picture = tmp_path / "plot.svg"
    figure = report.plot(results(), str(picture))
    assert len(figure.axes[0].lines) == 1
    assert picture.read_text().count("<svg") == 1
