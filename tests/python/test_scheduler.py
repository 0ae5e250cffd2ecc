"""Scheduler, HQDResourceMonitor and SmartQueueScheduler: no daemon is there."""

from __future__ import annotations

import time
from typing import Any, Callable, List

import pytest
from conftest import Program, Victim, eventually

import gpreempt


def offline_queues(victim: Victim) -> List[gpreempt.Queue]:
    return [queue for queue in gpreempt.queues(pid=victim.pid) if queue.type == "compute"]


def scheduler_of(victim: Victim, **options: Any) -> gpreempt.Scheduler:
    scheduler = gpreempt.Scheduler(**options)
    for queue in offline_queues(victim):
        scheduler.register_offline_queue(queue)
    return scheduler


def test_offline_queues_stop_for_online_tasks(victim: Victim,
                                              capsys: pytest.CaptureFixture[str]) -> None:
    with scheduler_of(victim) as scheduler:
        first, second = scheduler.notify_online_task(), scheduler.notify_online_task()
        assert victim.stands_still()
        scheduler.online_task_complete(first)
        assert victim.stands_still()
        scheduler.online_task_complete(second)
        assert victim.runs()
        with pytest.raises(ZeroDivisionError), scheduler.online_task():
            assert victim.stands_still()
            raise ZeroDivisionError
        assert victim.runs()
    done = scheduler.statistics
    assert (done.online_tasks, done.suspend.count, done.resume.count, done.online.count) == \
        (3, 2, 2, 3)
    assert done.failed_stops == 0 and done.deadlines == 0
    for times in (done.suspend, done.resume, done.online):
        assert times.p50 is not None and times.p99 is not None and 0 < times.p50 <= times.p99
    scheduler.print_summary()
    printed = capsys.readouterr().out
    assert "online tasks: 3" in printed and "p99 ms" in printed
    assert "<table>" in done._repr_html_()


def test_stop_ends_everything(victim: Victim) -> None:
    scheduler = scheduler_of(victim)
    with pytest.raises(RuntimeError, match="not started"):
        scheduler.notify_online_task()
    scheduler.start()
    task = scheduler.notify_online_task()
    scheduler.stop()
    assert victim.runs()
    scheduler.online_task_complete(task)


def test_a_task_that_is_never_completed_keeps_nothing_stopped(victim: Victim) -> None:
    with scheduler_of(victim, max_stop=0.05) as scheduler:
        scheduler.notify_online_task()
        assert victim.runs()
        assert eventually(lambda: victim.runs())
        time.sleep(0.06)
        scheduler.notify_online_task()  # stops again
        scheduler.online_task_complete()
    assert scheduler.statistics.deadlines >= 1
    assert victim.runs()


def test_an_online_queue_is_not_stopped_and_an_unregistered_one_neither(victim: Victim) -> None:
    scheduler = scheduler_of(victim)
    for queue in offline_queues(victim):
        scheduler.register_online_queue(queue)
    with scheduler, scheduler.online_task():
        assert victim.runs()
    for queue in offline_queues(victim):
        scheduler.unregister_queue(queue)
    with scheduler, scheduler.online_task():
        assert victim.runs()
    assert scheduler.statistics.suspend.count == 0


def test_a_queue_that_has_gone_is_forgotten(victim: Victim, children: Callable[[Any], Any]) -> None:
    other = children(Victim())
    scheduler = scheduler_of(victim)
    for queue in offline_queues(other):
        scheduler.register_offline_queue(queue)
    other.end()
    assert eventually(lambda: not gpreempt.queues(pid=other.pid))
    with scheduler, scheduler.online_task():
        assert victim.stands_still()
    assert victim.runs()


def test_a_failed_stop_is_said_and_online_work_goes_on(victim: Victim) -> None:
    scheduler = scheduler_of(victim)
    with scheduler, gpreempt.suspend(victim.pid, for_=60):
        with pytest.warns(gpreempt.GpreemptWarning, match="offline work goes on: .*already"):
            scheduler.notify_online_task()
        scheduler.online_task_complete()
    assert scheduler.statistics.failed_stops == 1
    assert victim.runs()


def test_queues_of_the_same_process(program: Program) -> None:
    """One process has both: the library stops its own queues by itself."""
    answer = program.do("""
mine = gpreempt.queues(pid=os.getpid())
scheduler = gpreempt.Scheduler()
scheduler.register_offline_queue(max(q.queue_id for q in mine if q.type == 'compute'))
with scheduler:
    with scheduler.online_task():
        during = [(q.queue_id, q.active) for q in gpreempt.queues(pid=os.getpid())]
after = [(q.queue_id, q.active) for q in gpreempt.queues(pid=os.getpid())]
(scheduler.statistics.suspend.count, scheduler.statistics.last_error, during, after)
""".strip())
    count, error, during, after = answer
    assert (count, error) == (1, ""), answer
    assert [active for _, active in during].count(False) == 1, answer
    assert all(active for _, active in after), answer


def test_no_such_queue_is_said() -> None:
    with pytest.raises(gpreempt.GpreemptError, match="has no queue 4711"):
        gpreempt.Scheduler().register_offline_queue(4711)


def test_slots_are_counted(victim: Victim) -> None:
    found = gpreempt.HQDResourceMonitor().status()
    assert len(found) == 1
    assert found[0].total == 24 and found[0].active is not None and found[0].free is not None
    assert found[0].active + found[0].free == 24 and found[0].active >= 1
    assert "24" in str(gpreempt.HQDResourceMonitor())


def test_few_free_slots_are_warned_of(victim: Victim) -> None:
    with pytest.warns(gpreempt.LowSlotsWarning, match="of 24 hardware queue slots are free"):
        assert gpreempt.HQDResourceMonitor(low=24).check()
    assert not gpreempt.HQDResourceMonitor(low=1).check()
    seen: List[gpreempt.HQDStatus] = []
    with gpreempt.HQDResourceMonitor(low=24, on_low=seen.append) as monitor:
        monitor.start(interval=0.01)
        assert eventually(lambda: len(seen) >= 2)
    known = len(seen)
    time.sleep(0.05)
    assert len(seen) == known  # it looks no more


def test_a_stock_driver_reserves_nothing_and_says_so(victim: Victim) -> None:
    scheduler = gpreempt.SmartQueueScheduler(online_reservation=10, offline_limit=80)
    with pytest.warns(gpreempt.GpreemptWarning, match="no slots are reserved: "):
        scheduler.start()
    scheduler.stop()
    with pytest.raises(gpreempt.NotSupported):
        gpreempt.SlotReservation(10, 80)


@pytest.mark.filterwarnings("ignore::gpreempt.GpreemptWarning")
def test_the_smart_scheduler_finds_stops_and_makes_room(
        children: Callable[[Any], Any], capsys: pytest.CaptureFixture[str]) -> None:
    victim = children(Victim("--queues", "3", priority=2))
    with gpreempt.SmartQueueScheduler() as scheduler:
        found = [queue for queue in scheduler.discover_queues_by_priority(0, 7)
                 if queue.pid == victim.pid]
        assert len(found) >= 3
        for queue in found:
            scheduler.register_offline_queue(queue)
        assert scheduler.unmap_idle_offline_queues(for_=60) >= 3
        assert victim.runs()  # it is not idle
        with scheduler.handle_online_request():
            assert victim.stands_still()
        assert victim.runs()
        scheduler.print_statistics()
    assert "online tasks: 1" in capsys.readouterr().out
    assert all(queue.active for queue in gpreempt.queues(pid=victim.pid))
