"""Slots kept for online work, by a driver with gpreempt's patches (--kernel-patches on)."""

from __future__ import annotations

import gc

import pytest
from conftest import Victim

import gpreempt


def reserved() -> int:
    return gpreempt.HQDResourceMonitor().status()[0].reserved or 0


def test_a_share_of_the_slots_is_reserved_until_it_is_given_back(victim: Victim) -> None:
    kept = gpreempt.SlotReservation(10, 80)
    assert reserved() == 5  # of 24: 100 - 80 percent, rounded up
    kept.end()
    assert reserved() == 0
    kept = gpreempt.SlotReservation(25)
    assert reserved() == 6
    del kept
    gc.collect()
    assert reserved() == 0
    with pytest.raises(gpreempt.GpreemptError):
        gpreempt.SlotReservation(60, 60)


def test_the_smart_scheduler_reserves_while_it_runs(victim: Victim) -> None:
    with gpreempt.SmartQueueScheduler(online_reservation=10, offline_limit=80) as scheduler:
        assert reserved() == 5
        for queue in gpreempt.queues(pid=victim.pid):
            scheduler.register_offline_queue(queue)
        with scheduler.handle_online_request():
            assert victim.stands_still()
        assert victim.runs()
    assert reserved() == 0


def test_stops_are_one_call_of_the_driver(victim: Victim) -> None:
    with gpreempt.suspend(victim.pid, for_=60) as stop:
        assert {queue.mechanism for queue in stop.queues} == {"kernel"}
        assert victim.stands_still()
    assert victim.runs()
