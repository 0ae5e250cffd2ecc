"""suspend(): queues stop, and always run again."""

from __future__ import annotations

import gc
import os
import signal
from typing import Any, Callable

import pytest
from conftest import Program, Victim, eventually

import gpreempt


def test_a_process_stands_still_within_the_block(victim: Victim) -> None:
    with gpreempt.suspend(victim.pid, 60) as stop:
        assert victim.stands_still()
        assert stop.state == "held"
        assert {(queue.outcome, queue.mechanism) for queue in stop.queues} == \
            {("stopped", "debugger")}
        assert 0 < stop.times.driver <= stop.times.total
    assert victim.runs()
    assert stop.state == "ended"


def test_only_the_named_queues_stop(children: Callable[[Any], Any]) -> None:
    victim = children(Victim("--queues", "2"))
    chosen = max((q for q in gpreempt.queues(pid=victim.pid) if q.type == "compute"),
                 key=lambda queue: queue.queue_id or 0)
    with gpreempt.suspend(chosen, for_=60) as stop:
        assert [queue.queue_id for queue in stop.queues] == [chosen.queue_id]
        assert victim.runs()


def test_an_exception_resumes(victim: Victim) -> None:
    with pytest.raises(ZeroDivisionError):
        with gpreempt.suspend(gpreempt.queues(pid=victim.pid), for_=60):
            assert victim.stands_still()
            raise ZeroDivisionError
    assert victim.runs()


def test_the_deadline_resumes(victim: Victim) -> None:
    stop = gpreempt.suspend(victim.pid, for_=0.05)
    assert eventually(lambda: stop.state == "deadline")
    assert victim.runs()
    with pytest.raises(gpreempt.GpreemptError, match="the lease has ended"):
        stop.extend(1)
    stop.resume()
    assert stop.state == "deadline"


def test_an_extended_one_lasts(victim: Victim) -> None:
    with gpreempt.suspend(victim.pid, for_=60) as stop:
        stop.extend(0.05)
        assert eventually(lambda: stop.state == "deadline")
    assert victim.runs()


def test_one_that_nobody_holds_any_more_resumes(victim: Victim) -> None:
    gpreempt.suspend(victim.pid, for_=60)
    gc.collect()
    assert victim.runs()


def test_the_same_queue_twice_is_refused(victim: Victim) -> None:
    with gpreempt.suspend(victim.pid, for_=60):
        with pytest.raises(gpreempt.GpreemptError, match="is stopped already"):
            gpreempt.suspend(victim.pid, for_=1)
    assert victim.runs()


@pytest.mark.parametrize("seconds", [0, -1, 86401])
def test_a_stop_needs_a_time(seconds: float) -> None:
    with pytest.raises(ValueError, match="more than 0 s and at most 24 hours"):
        gpreempt.suspend(1, for_=seconds)


def test_what_cannot_be_stopped_says_why_and_what_to_do(children: Callable[[Any], Any]) -> None:
    with pytest.raises(gpreempt.GpreemptError, match="process") as raised:
        gpreempt.suspend(2 ** 22 + 1, for_=1)
    assert raised.value.errno > 0
    with pytest.raises(gpreempt.GpreemptError, match="there are: .*debugger"):
        gpreempt.suspend(children(Victim()).pid, for_=1, mechanism="magic")


def test_ctrl_c_resumes(victim: Victim, program: Program) -> None:
    program.say(f'"with gpreempt.suspend({victim.pid}, for_=60): print(\\"held\\", flush=True); '
                'time.sleep(60)"')
    assert program.line() == "held"
    assert victim.stands_still()
    program.process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in program.line()
    assert victim.runs()


@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)", "os.kill(os.getpid(), 9)",
                                 "os.abort()"])
def test_the_end_of_the_interpreter_resumes(victim: Victim, children: Callable[[Any], Any],
                                            end: str) -> None:
    holder = children(Program())
    holder.do("import sys")
    holder.do(f"stop = gpreempt.suspend({victim.pid}, for_=600)")
    assert victim.stands_still()
    if "sys.exit" in end:
        holder.process.stdin.close()  # the interpreter ends in good order, the lease held
    else:
        holder.say(f'"{end}"')
    holder.process.wait()
    assert victim.runs()


def test_a_forked_child_leaves_the_lease_to_its_parent(victim: Victim, program: Program) -> None:
    program.do(f"stop = gpreempt.suspend({victim.pid}, for_=600)")
    program.do("""
def child():
    stop.resume()
    del globals()['stop']
    os._exit(0)
pid = os.fork()
if pid == 0:
    child()
os.waitpid(pid, 0)
""".strip())
    assert victim.stands_still()
    assert program.do("stop.state") == "held"
    program.do("stop.resume()")
    assert victim.runs()


def test_a_child_that_lives_on_holds_nothing(victim: Victim,
                                             children: Callable[[Any], Any]) -> None:
    holder = children(Program())
    child = holder.do(f"""
stop = gpreempt.suspend({victim.pid}, for_=600)
pid = os.fork()
if pid == 0:
    time.sleep(600)
pid
""".strip())
    assert victim.stands_still()
    holder.process.kill()
    holder.process.wait()
    try:
        assert victim.runs()
    finally:
        os.kill(child, signal.SIGKILL)


def test_interrupts_at_any_moment_leave_nothing_stopped(victim: Victim, program: Program) -> None:
    """Ctrl-C a hundred times, wherever it comes."""
    program.do("""
def rounds():
    ends = 0
    for _ in range(100):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0002 + 0.0001 * (_ % 40))
            while True:
                with gpreempt.suspend(VICTIM, for_=600):
                    pass
        except KeyboardInterrupt:
            ends += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return ends
def interrupted(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupted)
""".strip().replace("VICTIM", str(victim.pid)))
    assert program.do("rounds()") == 100
    assert program.do("import gc; gc.collect()") is not None
    assert victim.runs()
