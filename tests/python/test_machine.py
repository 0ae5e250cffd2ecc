"""Snapshots: a saved copy of a machine with two GPUs of four XCCs, and what runs here."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from conftest import SOURCE, Victim

import gpreempt

FIXTURE = SOURCE / "tests/fixtures/gfx942"


def saved() -> gpreempt.Snapshot:
    folder = next(path.parent for path in FIXTURE.rglob("mqds"))
    return gpreempt.Snapshot(sysfs=str(next(FIXTURE.rglob("topology")).parent), debugfs=str(folder))


def test_a_saved_copy_is_read() -> None:
    snapshot = saved()
    found = snapshot.queues()
    assert [node.gfx for node in snapshot.nodes] == ["gfx942", "gfx942"]
    assert found and all(queue.process.pid == queue.pid for queue in found)
    assert len(snapshot.queues(pid=found[0].pid)) == sum(q.pid == found[0].pid for q in found)
    assert all(0 <= q.priority <= 5 for q in snapshot.queues(priority=(0, 5))
               if q.priority is not None)
    assert not snapshot.queues(tag="of nobody")


def test_a_saved_copy_cannot_be_stopped() -> None:
    with pytest.raises(gpreempt.GpreemptError):
        gpreempt.suspend([saved().queues()[0]], 1)


def test_what_is_not_known_is_none() -> None:
    for queue in saved().queues():
        assert queue.priority is None or 0 <= queue.priority <= 15
    for queue in gpreempt.queues(with_debugfs=False):
        assert queue.priority is None and queue.mapped is None and queue.idle is None


def test_a_program_has_its_queues_and_class(victim: Victim,
                                            children: Callable[[Any], Any]) -> None:
    children(Victim(cls="online", priority=12))
    mine = gpreempt.queues(pid=victim.pid)
    assert mine and {queue.type for queue in mine} >= {"compute"}
    assert all(queue.process.queues == len(mine) for queue in mine)
    assert victim.pid not in {queue.pid for queue in gpreempt.queues(cls="online")}
    assert "mechanism_victim" in mine[0].process.command
    assert victim.pid in [process.pid for process in gpreempt.processes()]
    assert gpreempt.nodes()[0].gfx == "gfx90a"


def test_no_class_is_refused() -> None:
    with pytest.raises(ValueError, match="class 'urgent': one of offline, normal, online"):
        gpreempt.queues(cls="urgent")


def test_tables_are_shown_in_notebooks() -> None:
    shown = saved().queues()
    assert shown._repr_html_().count("<tr>") == len(shown) + 1
    assert "queue_id" in str(shown)
    assert "N/A" in str(gpreempt.Rows([gpreempt.HQDStatus(1, None, None, None, None, None)],
                                      columns=("gpu_id", "free")))
